// A million rows of 64 floats with Adagrad in one partition, batches of 10,000 uniformly drawn
// keys: P2 and P3 of the peers' workloads without the wire.
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "capstan/base/hash.h"
#include "capstan/placement/placement.h"
#include "capstan/store/table.h"

namespace capstan {
namespace {

constexpr uint64_t kRows = 1'000'000;
constexpr uint32_t kDim = 64;
constexpr size_t kBatch = 10'000;
constexpr size_t kBatches = 100;

v1::TableSpec Spec() {
  v1::TableSpec spec;
  spec.set_dim(kDim);
  spec.set_seed(1);
  v1::TableSegment* segment = spec.add_segments();
  segment->set_width(kDim);
  segment->set_learning_rate_scale(1);
  segment->mutable_initializer()->set_kind(v1::INITIALIZER_KIND_NORMAL);
  segment->mutable_initializer()->set_scale(0.01f);
  v1::OptimizerSpec* optimizer = spec.mutable_optimizer();
  optimizer->set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  optimizer->set_learning_rate(0.02f);
  optimizer->set_initial_accumulator(0.1f);
  optimizer->set_epsilon(1e-10f);
  return spec;
}

void Push(Table& table, const std::vector<uint64_t>& keys, const std::vector<float>& values) {
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  table.Apply({&gradient, 1}, {});
}

// The filled table, made when the first benchmark needs it.
Table& FullTable() {
  static Table* const table = [] {
    Table* made = Table::Create(Spec(), 1)->release();
    const std::vector<float> values(kBatch * kDim, 1e-3f);
    std::vector<uint64_t> keys(kBatch);
    for (uint64_t begin = 0; begin < kRows; begin += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) keys[i] = begin + i;
      Push(*made, keys, values);
    }
    return made;
  }();
  return *table;
}

std::vector<std::vector<uint64_t>> Batches(uint64_t first_key) {
  std::vector<std::vector<uint64_t>> batches(kBatches, std::vector<uint64_t>(kBatch));
  for (size_t b = 0; b < kBatches; ++b) {
    for (size_t i = 0; i < kBatch; ++i) batches[b][i] = first_key + Draw(7, b, i) % kRows;
  }
  return batches;
}

void BM_Pull(benchmark::State& state) {
  const Table& table = FullTable();
  const auto batches = Batches(/*first_key=*/0);
  std::vector<float> values(kBatch * kDim);
  size_t next = 0;
  for (auto _ : state) table.Pull(batches[next++ % kBatches], values.data());
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_Pull)->MinTime(2);

void BM_PullOfMissingRows(benchmark::State& state) {
  const Table& table = FullTable();
  const auto batches = Batches(/*first_key=*/kRows);
  std::vector<float> values(kBatch * kDim);
  size_t next = 0;
  for (auto _ : state) table.Pull(batches[next++ % kBatches], values.data());
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_PullOfMissingRows);

void BM_Push(benchmark::State& state) {
  Table& table = FullTable();
  const auto batches = Batches(/*first_key=*/0);
  const std::vector<float> values(kBatch * kDim, 1e-3f);
  size_t next = 0;
  for (auto _ : state) Push(table, batches[next++ % kBatches], values);
  state.SetItemsProcessed(state.iterations() * kBatch);
  state.counters["bytes_per_row"] = static_cast<double>(table.memory_bytes()) / table.row_count();
}
BENCHMARK(BM_Push)->MinTime(2);

void BM_PushOfNewRows(benchmark::State& state) {
  const auto table = *Table::Create(Spec(), 1);
  const std::vector<float> values(kBatch * kDim, 1e-3f);
  std::vector<uint64_t> keys(kBatch);
  uint64_t key = 0;
  for (auto _ : state) {
    for (uint64_t& k : keys) k = key++;
    Push(*table, keys, values);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_PushOfNewRows)->Iterations(100);

// The same rows in 256 partitions, as a shard holds them: a batch has some 39 keys of each.
class Partitions {
 public:
  Partitions() {
    for (size_t i = 0; i < kPartitions; ++i) {
      tables_.push_back(*Table::Create(Spec(), kPartitions, &arena_));
    }
    const std::vector<float> values(kBatch * kDim, 1e-3f);
    std::vector<uint64_t> all(kBatch);
    for (uint64_t begin = 0; begin < kRows; begin += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) all[i] = begin + i;
      const auto keys = Split(all);
      for (size_t p = 0; p < kPartitions; ++p) {
        RowGradients gradient;
        gradient.keys = keys[p];
        gradient.values = PackedFloats(values.data(), keys[p].size() * kDim);
        tables_[p]->Apply({&gradient, 1}, {});
      }
    }
  }

  static std::vector<std::vector<uint64_t>> Split(const std::vector<uint64_t>& keys) {
    std::vector<std::vector<uint64_t>> split(kPartitions);
    for (uint64_t key : keys) {
      split[static_cast<size_t>(Raw(PartitionOfKey(key, 1, kPartitions)))].push_back(key);
    }
    return split;
  }

  static constexpr uint32_t kPartitions = 256;
  Table& table(size_t i) { return *tables_[i]; }

 private:
  SlabArena arena_;
  std::vector<std::unique_ptr<Table>> tables_;
};

Partitions& FullPartitions() {
  static Partitions& partitions = *new Partitions;
  return partitions;
}

void BM_PullOfPartitions(benchmark::State& state) {
  Partitions& partitions = FullPartitions();
  std::vector<std::vector<std::vector<uint64_t>>> batches;
  for (const auto& batch : Batches(/*first_key=*/0)) batches.push_back(Partitions::Split(batch));
  std::vector<float> values(kBatch * kDim);
  size_t next = 0;
  for (auto _ : state) {
    const auto& batch = batches[next++ % kBatches];
    float* at = values.data();
    for (size_t p = 0; p < Partitions::kPartitions; ++p) {
      partitions.table(p).Pull(batch[p], at);
      at += batch[p].size() * kDim;
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_PullOfPartitions)->MinTime(0.2);

void BM_PushOfPartitions(benchmark::State& state) {
  Partitions& partitions = FullPartitions();
  std::vector<std::vector<std::vector<uint64_t>>> batches;
  for (const auto& batch : Batches(/*first_key=*/0)) batches.push_back(Partitions::Split(batch));
  const std::vector<float> values(kBatch * kDim, 1e-3f);
  size_t next = 0;
  for (auto _ : state) {
    const auto& batch = batches[next++ % kBatches];
    const float* at = values.data();
    for (size_t p = 0; p < Partitions::kPartitions; ++p) {
      RowGradients gradient;
      gradient.keys = batch[p];
      gradient.values = PackedFloats(at, batch[p].size() * kDim);
      partitions.table(p).Apply({&gradient, 1}, {});
      at += batch[p].size() * kDim;
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_PushOfPartitions)->MinTime(0.2);

}  // namespace
}  // namespace capstan
