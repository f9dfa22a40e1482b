#include "cli/model/model_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/cli/model/small_checkpoints.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

class ModelDiffTest : public SmallCheckpoints {
 protected:
  // The differences of the checkpoint before and one after two pushes of these gradients to the
  // rows of `keys`.
  absl::StatusOr<std::vector<PartDiff>> DiffAfterPushes(const std::vector<uint64_t>& keys,
                                                        const std::vector<float>& values) {
    RowGradients gradient{.keys = keys, .values = values, .pulled = {}};
    for (int i = 0; i < 2; ++i) {
      second_->FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 5000});
    }
    Write("2-b");
    return DiffCheckpoints(*CheckpointReader::Open(Uri("1-a")),
                           *CheckpointReader::Open(Uri("2-b")));
  }

  // The differences in one tensor of two checkpoints, before each of which its three weights are
  // set to these, and all of its slots to 0.
  absl::StatusOr<PartDiff> DiffOfTensor(const std::vector<float>& before,
                                        const std::vector<float>& after) {
    DenseBlocks& blocks = second_->blocks();
    const Block block = blocks.blocks()[0];
    std::vector<std::string> uris;
    for (const std::vector<float>& values : {before, after}) {
      std::vector<float> state(blocks.State(block.id).size(), 0);
      std::copy(values.begin(), values.end(), state.begin());
      if (const absl::Status set = blocks.Restore(block.id, state); !set.ok()) return set;
      const std::string id = absl::StrCat(++written_, "-t");
      Write(id);
      uris.push_back(Uri(id));
    }
    const auto diffs =
        DiffCheckpoints(*CheckpointReader::Open(uris[0]), *CheckpointReader::Open(uris[1]));
    if (!diffs.ok()) return diffs.status();
    return (*diffs)[2 + block.tensor];
  }

  int written_ = 10;
};

TEST_F(ModelDiffTest, CountsWhatHasChanged) {
  const auto diffs = DiffAfterPushes({1001, 5}, {0.5f, 0.5f, 0.5f, 0.5f});
  ASSERT_TRUE(diffs.ok()) << diffs.status();
  const PartDiff& table = diffs->front();
  EXPECT_EQ(table.name, "table1");
  EXPECT_EQ(table.changed, 1u);
  EXPECT_EQ(table.added, 1u);
  EXPECT_EQ(table.common, 20u);
  EXPECT_GT(table.largest, 0);
  EXPECT_TRUE((*diffs)[1].same());
  EXPECT_TRUE((*diffs)[2].same());
}

TEST_F(ModelDiffTest, OfATensorCountsWeightsAndNotSlots) {
  DenseBlocks& blocks = second_->blocks();
  const Block block = blocks.blocks()[0];
  std::vector<float> state(blocks.State(block.id).begin(), blocks.State(block.id).end());
  ASSERT_GE(block.length, 3u);
  state[0] += 1;                 // A weight,
  state[block.length] += 1;      // and its momentum.
  state[block.length + 1] += 1;  // The momentum of another weight.
  ASSERT_TRUE(blocks.Restore(block.id, state).ok());
  Write("2-b");
  const auto diffs =
      DiffCheckpoints(*CheckpointReader::Open(Uri("1-a")), *CheckpointReader::Open(Uri("2-b")));
  ASSERT_TRUE(diffs.ok()) << diffs.status();
  const PartDiff& tensor = (*diffs)[2 + block.tensor];
  EXPECT_EQ(tensor.changed, 1u);
  EXPECT_EQ(tensor.slots_changed, 1u);
  EXPECT_EQ(tensor.largest, 1);
}

TEST_F(ModelDiffTest, WhatABlockHasInCommonBelongsToAllOfItsWeights) {
  v1::JobSpec job = SmallJob();
  for (v1::TensorSpec& tensor : *job.mutable_tensors()) {
    v1::OptimizerSpec& adam = *tensor.mutable_optimizer();
    adam.set_kind(v1::OPTIMIZER_KIND_ADAM);
    adam.set_beta1(0.5f);
    adam.set_beta2(0.75f);
    adam.set_epsilon(1);
  }
  const auto write = [&](const std::string& id, bool another_step) {
    const auto folder = *OpenObjectStore(Uri(id));
    v1::Manifest manifest;
    manifest.set_id(id);
    *manifest.mutable_job() = job;
    for (const PartitionIndex partition : {PartitionIndex{0}, PartitionIndex{1}}) {
      const auto store = *PartitionStore::Create(job, LayoutOf(job), partition);
      for (const Block& block : store->blocks().blocks()) {
        std::vector<float> state(store->blocks().State(block.id).begin(),
                                 store->blocks().State(block.id).end());
        if (another_step) state.back() += 1;
        ASSERT_TRUE(store->blocks().Restore(block.id, state).ok());
      }
      *manifest.add_files() =
          PutPartial(*folder, partition, EncodePartition(*store, {.partition_count = 2}), 0);
    }
    ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  };
  write("3-c", false);
  write("4-d", true);
  const auto diffs =
      DiffCheckpoints(*CheckpointReader::Open(Uri("3-c")), *CheckpointReader::Open(Uri("4-d")));
  ASSERT_TRUE(diffs.ok()) << diffs.status();
  for (const PartDiff& diff : std::span(*diffs).subspan(2)) {
    EXPECT_EQ(diff.changed, 0u) << diff.name;
    EXPECT_EQ(diff.slots_changed, diff.common) << diff.name;
  }
}

TEST_F(ModelDiffTest, AWeightThatIsNotANumberIsTheLargestDifference) {
  const auto diffs = DiffAfterPushes({1001, 1002}, {NAN, 0.5f, 0.5f, 0.5f});
  ASSERT_TRUE(diffs.ok()) << diffs.status();
  EXPECT_TRUE(std::isnan(diffs->front().largest)) << diffs->front().largest;
}

TEST_F(ModelDiffTest, WeightsThatAreEqualAreNoDifferenceThoughTheyAreNoNumbers) {
  const float infinite = std::numeric_limits<float>::infinity();
  const auto diff = DiffOfTensor({NAN, infinite, 1}, {NAN, infinite, 3});
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_EQ(diff->changed, 1u);
  EXPECT_EQ(diff->largest, 2);
}

TEST_F(ModelDiffTest, TheLargestDifferenceIsThatOfAnyWeightEitherWay) {
  EXPECT_EQ(DiffOfTensor({5, 0, 1}, {1, 1, 1})->largest, 4);
  EXPECT_EQ(DiffOfTensor({0, 0, 1}, {0, 0, 1})->largest, 0);
  EXPECT_TRUE(DiffOfTensor({7, 0, 1}, {7, 0, 1})->same());
}

TEST_F(ModelDiffTest, ARowThatOneOfTheModelsLacksIsCountedAndNotCompared) {
  Write("2-b");
  second_ = SmallPartition(/*rows=*/18);
  Write("3-c");
  const auto diffs =
      DiffCheckpoints(*CheckpointReader::Open(Uri("2-b")), *CheckpointReader::Open(Uri("3-c")));
  ASSERT_TRUE(diffs.ok()) << diffs.status();
  EXPECT_EQ(diffs->front().removed, 2u);
  EXPECT_EQ(diffs->front().added, 0u);
  EXPECT_EQ(diffs->front().common, 18u);
  EXPECT_EQ(diffs->front().changed, 0u);
  EXPECT_FALSE(diffs->front().same());
}

TEST_F(ModelDiffTest, ModelsOfAnotherLayoutAreNotCompared) {
  const auto folder = *OpenObjectStore(Uri("2-b"));
  v1::JobSpec job = SmallJob();
  job.mutable_tables(0)->set_seed(99);
  v1::Manifest manifest;
  manifest.set_id("2-b");
  *manifest.mutable_job() = job;
  for (PartitionStore* store : {first_.get(), second_.get()}) {
    *manifest.add_files() =
        PutPartial(*folder, store->partition(), EncodePartition(*store, {.partition_count = 2}), 0);
  }
  ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  const absl::Status refused =
      DiffCheckpoints(*CheckpointReader::Open(Uri("1-a")), *CheckpointReader::Open(Uri("2-b")))
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("seed of table table1"));
}

}  // namespace
}  // namespace capstan::cli
