// Tables and gradients as the tests of the store want them.
#ifndef CAPSTAN_TESTS_UNIT_STORE_TABLES_H_
#define CAPSTAN_TESTS_UNIT_STORE_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "capstan/store/table.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// `dim` columns in one segment that begins at zero, SGD with rate 1.
v1::TableSpec SgdTable(uint32_t dim);

// Gives the spec's only segment another initializer.
v1::TableSpec WithInitializer(v1::TableSpec spec, v1::InitializerKind kind, float scale);

v1::TableSpec WithOptimizer(v1::TableSpec spec, v1::OptimizerKind kind);

// In one partition. The spec must be possible.
std::unique_ptr<Table> MakeTable(const v1::TableSpec& spec);

std::vector<float> PullRows(const Table& table, const std::vector<uint64_t>& keys);

// One update with one gradient.
void Push(Table& table, const std::vector<uint64_t>& keys, const std::vector<float>& values,
          const UpdateContext& context = {});

// The same for a gradient of -1 in every column: SGD with rate 1 then counts pushes.
void PushOnes(Table& table, const std::vector<uint64_t>& keys, uint64_t progress_examples = 0);

// The keys that have a row, ascending.
std::vector<uint64_t> Keys(const Table& table);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_STORE_TABLES_H_
