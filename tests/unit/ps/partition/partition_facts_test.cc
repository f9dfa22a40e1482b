// What a partition tells of itself.
#include "ps/partition/partition_facts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "capstan/base/check.h"
#include "ps/partition/partition_content.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

class PartitionFactsTest : public testing::Test {
 protected:
  static v1::JobSpec Tables(int tables) {
    v1::JobSpec job;
    job.set_job("facts");
    job.set_partition_count(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    for (int i = 0; i < tables; ++i) {
      AddOneColumn(job);
      job.mutable_tables(i)->set_id(static_cast<uint32_t>(i));
    }
    return job;
  }
  static void AddTensor(v1::JobSpec& job, uint32_t floats) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(floats);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  }
  PartitionContent Make(const v1::JobSpec& job) {
    auto content = InitialContent(*Catalog::Create(job), PartitionIndex{0}, Timeline{1}, slabs_);
    CAPSTAN_CHECK(content.ok());
    return *std::move(content);
  }
  // The machine as a checkpoint kept it.
  static PartitionMachine MachineOf(const v1::JobSpec& job, const PartState& dense,
                                    const PartState& sparse) {
    PartitionState state;
    state.parts = {dense, sparse};
    return PartitionMachine(MachineOptions(*Catalog::Create(job), Timeline{1}), state,
                            absl::UnixEpoch());
  }
  static PartState StateOf(uint64_t version, uint64_t lost, uint64_t batches) {
    PartState state;
    state.version = version;
    state.ledger.lost = lost;
    state.batches = batches;
    return state;
  }

  SlabArena slabs_;
};

TEST_F(PartitionFactsTest, ParametersAreTheWeightsOfRowsAndBlocks) {
  v1::JobSpec job = Tables(2);
  AddTensor(job, 10);
  const PartitionContent content = Make(job);
  const std::vector<uint64_t> keys = {1, 2, 3};
  const std::vector<float> values = {1, 1, 1};
  const RowGradients gradient = {.keys = keys, .values = values, .pulled = {}};
  content.store->tables()[1]->Apply({&gradient, 1}, {});
  const PartitionFacts facts = FactsOf(*content.store, content.machine);
  ASSERT_EQ(facts.tables.size(), 2u);
  EXPECT_EQ(facts.tables[0].rows, 0u);
  EXPECT_EQ(facts.tables[1].rows, 3u);
  EXPECT_EQ(facts.tables[1].counters.created, 3u);
  EXPECT_EQ(facts.parameters, 13u);
  EXPECT_GE(facts.bytes, 13 * sizeof(float));
}

TEST_F(PartitionFactsTest, TheVersionIsTheHigherOneAndBatchesAreThoseWithRows) {
  v1::JobSpec job = Tables(1);
  AddTensor(job, 10);
  const PartitionContent content = Make(job);
  for (const auto& [dense, sparse] : {std::pair(4u, 9u), std::pair(9u, 4u)}) {
    const PartitionFacts facts = FactsOf(
        *content.store, MachineOf(job, StateOf(dense, 0, dense), StateOf(sparse, 0, sparse)));
    EXPECT_EQ(facts.version, 9u);
    EXPECT_EQ(facts.batches, sparse);
  }
}

TEST_F(PartitionFactsTest, OnlyPartsOfWhichThePartitionHoldsSomethingCanHaveLostBatches) {
  v1::JobSpec both = Tables(1);
  AddTensor(both, 10);
  EXPECT_EQ(FactsOf(*Make(both).store, MachineOf(both, StateOf(1, 5, 0), StateOf(1, 2, 0))).lost,
            7u);
  const v1::JobSpec tables = Tables(1);
  EXPECT_EQ(
      FactsOf(*Make(tables).store, MachineOf(tables, StateOf(1, 5, 0), StateOf(1, 2, 0))).lost, 2u);
}

}  // namespace
}  // namespace capstan::ps
