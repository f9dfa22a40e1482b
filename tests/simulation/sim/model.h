// Parameters as an evaluator would read them, from a shard or from a checkpoint.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_MODEL_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/objectstore/store_opener.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard.h"
#include "tests/simulation/sim/job.h"

namespace capstan::sim {

// What a shard tells of its parameters: all of them, or those that it could tell and the first
// error.
struct Reading {
  Cells cells;
  absl::Status status;
};

// Reads every parameter of the partitions that the view gives to shard `index`.
Reading ReadCells(const Job& job, ps::Shard& shard, const v1::View& view, uint32_t index);

// Every parameter of a checkpoint, loaded as a shard loads it, or why some cannot be read.
absl::StatusOr<Cells> ReadCheckpoint(const Job& job, const std::string& uri,
                                     const StoreOpener& open);

// Entries of tasks that the ledgers of a checkpoint keep, because the tasks' streams are open
// there.
absl::StatusOr<uint64_t> OpenStreamsIn(const Job& job, const std::string& uri,
                                       const StoreOpener& open);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_MODEL_H_
