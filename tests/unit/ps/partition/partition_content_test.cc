#include "ps/partition/partition_content.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

constexpr uint32_t kOfContent = 2;  // Partitions; the only tensor is in the first.

// Both parts are asynchronous; a table is in every partition.
v1::JobSpec JobOfContent(bool with_table) {
  v1::JobSpec job;
  job.set_job("content");
  job.set_partition_count(kOfContent);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  if (with_table) AddOneColumn(job);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("bias");
  tensor.add_shape(2);
  tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  tensor.mutable_optimizer()->set_learning_rate(1);
  return job;
}

// A machine that has found so many batches missing in each part.
PartitionMachine MachineThatLost(const Catalog& catalog, uint64_t dense, uint64_t sparse) {
  PartitionState state;
  state.parts[static_cast<size_t>(Part::kDense)].ledger.lost = dense;
  state.parts[static_cast<size_t>(Part::kSparse)].ledger.lost = sparse;
  return {MachineOptions(catalog, Timeline{1}), state, absl::UnixEpoch()};
}

TEST(PartitionContentTest, AJobWithoutABatchSizeDividesByNoZero) {
  const Catalog catalog = *Catalog::Create(JobOfContent(true));
  const PartitionOptions options = MachineOptions(catalog, Timeline{4});
  EXPECT_EQ(options.timeline, Timeline{4});
  EXPECT_EQ(options.lanes.batch_size, 1u);
}

TEST(PartitionContentTest, APartitionBeginsInItsTimelineWithItsOwnBlocksAndNoRows) {
  const Catalog catalog = *Catalog::Create(JobOfContent(true));
  SlabArena slabs;
  size_t blocks = 0;
  for (uint32_t i = 0; i < kOfContent; ++i) {
    const auto content =
        InitialContent(catalog, static_cast<PartitionIndex>(i), Timeline{4}, slabs);
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(content->machine.timeline(), Timeline{4});
    EXPECT_EQ(content->store->row_count(), 0u);
    EXPECT_EQ(content->base, "") << "it was read from no checkpoint";
    EXPECT_EQ(content->origin, ViewEpoch()) << "it has not come by a move";
    blocks += content->store->blocks().blocks().size();
  }
  EXPECT_EQ(blocks, 1u);
}

TEST(PartitionContentTest, BatchesAreMissedOnlyInPartsOfWhichThePartitionHoldsSomething) {
  for (const bool with_table : {true, false}) {
    const Catalog catalog = *Catalog::Create(JobOfContent(with_table));
    SlabArena slabs;
    for (uint32_t i = 0; i < kOfContent; ++i) {
      const auto content =
          InitialContent(catalog, static_cast<PartitionIndex>(i), Timeline{1}, slabs);
      ASSERT_TRUE(content.ok()) << content.status();
      const bool has_tensor = !content->store->blocks().blocks().empty();
      EXPECT_EQ(BatchesLost(*content->store, MachineThatLost(catalog, 5, 30)),
                (has_tensor ? 5u : 0u) + (with_table ? 30u : 0u));
    }
  }
}

}  // namespace
}  // namespace capstan::ps
