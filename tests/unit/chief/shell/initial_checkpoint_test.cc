#include "chief/shell/initial_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/partition_store.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

using testing::Each;

constexpr uint32_t kInitialPartitions = 3;
constexpr char kInitialId[] = "00000000-1";

// A table, and a tensor that is larger than a block beside one of two weights.
v1::JobSpec DeclaredJob() {
  v1::JobSpec job;
  job.set_job("declared");
  job.set_partition_count(kInitialPartitions);
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_name("features");
  table.set_dim(1);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  table.mutable_optimizer()->set_learning_rate(1);
  table.add_segments()->set_width(1);
  table.mutable_segments(0)->set_learning_rate_scale(1);
  for (const uint32_t length : {kMaxBlockFloats + 10, uint32_t{2}}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(length == 2 ? "bias" : "weight");
    tensor.add_shape(length);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_MOMENTUM);
    tensor.mutable_optimizer()->set_momentum(0.5);
    tensor.mutable_optimizer()->set_learning_rate(1);
  }
  return job;
}

std::vector<float> ValuesFor(const DenseLayout& layout) {
  std::vector<float> values(layout.flat_size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(InitialCheckpointTest, ShardsLoadTheDeclaredValuesWithNewSlotsAndEmptyTables) {
  const TestFolder temporary;
  const std::string uri = temporary.Path(kInitialId);
  const v1::JobSpec job = DeclaredJob();
  const DenseLayout layout = *DenseLayout::Create(job.tensors(), kInitialPartitions);
  const std::vector<float> values = ValuesFor(layout);
  ASSERT_EQ(WriteInitialCheckpoint(**OpenObjectStore(uri), kInitialId, job, values),
            absl::OkStatus());
  const auto reader = CheckpointReader::Open(uri);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->manifest().id(), kInitialId);
  EXPECT_EQ(reader->manifest().step(), 0u);
  EXPECT_EQ(reader->chain_length(), 1u);
  std::vector<float> seen(values.size(), -1);
  for (uint32_t partition = 0; partition < kInitialPartitions; ++partition) {
    const auto read = reader->Read(static_cast<PartitionIndex>(partition), job, layout);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->timeline, 0u);
    EXPECT_EQ(read->store->row_count(), 0u);
    const DenseBlocks& blocks = read->store->blocks();
    for (const Block& block : blocks.blocks()) {
      const absl::Span<const float> weights = blocks.Weights(block.id);
      std::copy(weights.begin(), weights.end(), seen.begin() + block.flat_offset);
      EXPECT_THAT(blocks.State(block.id).subspan(block.length), Each(0.0f)) << "its momentum";
    }
  }
  EXPECT_TRUE(seen == values) << "each is in one partition";
}

TEST(InitialCheckpointTest, WhatCouldNotBeWrittenWholeIsNoCheckpoint) {
  const v1::JobSpec job = DeclaredJob();
  const std::vector<float> values =
      ValuesFor(*DenseLayout::Create(job.tensors(), kInitialPartitions));
  for (const auto kind : {StoreCall::Kind::kCreate, StoreCall::Kind::kAppend,
                          StoreCall::Kind::kCommit, StoreCall::Kind::kWrite}) {
    const std::unique_ptr<ObjectStore> folder = MakeMemoryObjectStore();
    FaultyObjectStore faulty(*folder);
    faulty.SetPlan([kind](const StoreCall& call) -> StoreFault {
      if (call.kind != kind) return {};
      return {.status = absl::PermissionDeniedError("no")};
    });
    const absl::Status written = WriteInitialCheckpoint(faulty, kInitialId, job, values);
    EXPECT_TRUE(absl::IsPermissionDenied(written)) << written;
    EXPECT_TRUE(absl::IsNotFound(capstan::ReadManifest(*folder).status()));
  }
}

TEST(InitialCheckpointTest, ATensorThatCannotBeIsAnError) {
  v1::JobSpec job = DeclaredJob();
  job.mutable_tensors(0)->set_shape(0, 0);
  const std::unique_ptr<ObjectStore> folder = MakeMemoryObjectStore();
  EXPECT_TRUE(absl::IsInvalidArgument(WriteInitialCheckpoint(*folder, kInitialId, job, {})));
}

}  // namespace
}  // namespace capstan::chief
