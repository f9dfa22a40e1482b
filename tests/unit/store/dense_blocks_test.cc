#include "capstan/store/dense_blocks.h"

#include "capstan/store/partition_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using testing::ElementsAre;

// Tensors "w" of `width` floats, normal, and "b" of 2, zero; SGD with rate 1.
v1::JobSpec Job(uint32_t width) {
  v1::JobSpec job;
  job.set_seed(11);
  job.set_partition_count(3);
  for (const char* name : {"w", "b"}) {
    v1::TensorSpec* tensor = job.add_tensors();
    tensor->set_name(name);
    tensor->add_shape(job.tensors_size() == 1 ? width : 2);
    tensor->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    tensor->mutable_optimizer()->set_learning_rate(1);
  }
  job.mutable_tensors(0)->mutable_initializer()->set_kind(v1::INITIALIZER_KIND_NORMAL);
  job.mutable_tensors(0)->mutable_initializer()->set_scale(0.1f);
  return job;
}

DenseLayout Layout(const v1::JobSpec& job) {
  return *DenseLayout::Create(job.tensors(), job.partition_count());
}

// All weights of all partitions as the flat vector.
std::vector<float> Flat(const v1::JobSpec& job) {
  const DenseLayout layout = Layout(job);
  std::vector<float> flat(layout.flat_size());
  for (uint32_t p = 0; p < job.partition_count(); ++p) {
    const auto blocks = *DenseBlocks::Create(job, layout, PartitionIndex(p));
    for (const Block& block : blocks->blocks()) {
      const auto weights = blocks->Weights(block.id);
      std::copy(weights.begin(), weights.end(), flat.begin() + block.flat_offset);
    }
  }
  return flat;
}

TEST(DenseBlocksTest, HasInitialValuesThatDoNotDependOnThePartitions) {
  v1::JobSpec job = Job(/*width=*/100'000);
  const std::vector<float> three = Flat(job);
  job.set_partition_count(1);
  EXPECT_EQ(Flat(job), three);
  job.set_seed(12);
  EXPECT_NE(Flat(job), three);
  EXPECT_THAT(absl::MakeSpan(three).subspan(100'000), ElementsAre(0, 0));
}

class SmallBlocksTest : public testing::Test {
 protected:
  SmallBlocksTest() : job_(Job(3)) {
    job_.set_partition_count(1);
    job_.mutable_tensors(0)->clear_initializer();
  }
  std::unique_ptr<DenseBlocks> Make() {
    return *DenseBlocks::Create(job_, Layout(job_), PartitionIndex{0});
  }
  v1::JobSpec job_;
};

TEST_F(SmallBlocksTest, AppliesAGradientToItsBlockAlone) {
  const auto blocks = Make();
  const std::vector<float> values = {1, 2, 3};
  blocks->Apply(BlockId{0}, {{.values = values, .pulled = {}, .weight = 1}}, {});
  EXPECT_THAT(blocks->Weights(BlockId{0}), ElementsAre(-1, -2, -3));
  EXPECT_THAT(blocks->Weights(BlockId{1}), ElementsAre(0, 0));
}

TEST_F(SmallBlocksTest, AppliesTheWeightedSumOfSeveralGradientsAsOneUpdate) {
  job_.mutable_tensors(1)->mutable_optimizer()->set_clip_value(1);
  const auto blocks = Make();
  const std::vector<float> a = {4, -8}, b = {-4, 2};
  blocks->Apply(
      BlockId{1},
      {{.values = a, .pulled = {}, .weight = 0.5f}, {.values = b, .pulled = {}, .weight = 0.25f}},
      {});
  EXPECT_THAT(blocks->Weights(BlockId{1}), ElementsAre(-1, 1));
}

TEST_F(SmallBlocksTest, CompensatesAStaleGradient) {
  const auto blocks = Make();
  const std::vector<float> down = {-10, -10}, g = {2, 1}, pulled = {7, 10};
  blocks->Apply(BlockId{1}, {{.values = down, .pulled = {}, .weight = 1}}, {});
  blocks->Apply(BlockId{1}, {{.values = g, .pulled = pulled, .weight = 1}},
                {.compensate_lambda = 0.5f});
  EXPECT_THAT(blocks->Weights(BlockId{1}), ElementsAre(10 - 8, 10 - 1));
}

TEST_F(SmallBlocksTest, RestoresTheStateOfAnOptimizerWithSlots) {
  job_.mutable_tensors(0)->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_MOMENTUM);
  job_.mutable_tensors(0)->mutable_optimizer()->set_momentum(0.5f);
  const auto blocks = Make(), copy = Make();
  const std::vector<float> g = {1, 2, 4};
  const std::vector<BlockGradient> gradient = {{.values = g, .pulled = {}, .weight = 1}};
  blocks->Apply(BlockId{0}, gradient, {});
  ASSERT_TRUE(copy->Restore(BlockId{0}, blocks->State(BlockId{0})).ok());
  blocks->Apply(BlockId{0}, gradient, {});
  copy->Apply(BlockId{0}, gradient, {});
  EXPECT_THAT(copy->Weights(BlockId{0}), ElementsAre(-2.5f, -5, -10));
  EXPECT_EQ(copy->State(BlockId{0}), blocks->State(BlockId{0}));
}

TEST_F(SmallBlocksTest, RefusesToRestoreWhatIsNotHere) {
  const auto blocks = Make();
  const std::vector<float> state = {1, 2, 3, 4};
  EXPECT_EQ(blocks->Restore(BlockId{9}, state).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(blocks->Restore(BlockId{0}, state).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SmallBlocksTest, RefusesAnImpossibleTensor) {
  job_.mutable_tensors(0)->mutable_optimizer()->set_learning_rate(-1);
  EXPECT_EQ(DenseBlocks::Create(job_, Layout(job_), PartitionIndex{0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(SmallBlocksTest, LiveInAPartitionBesideItsTables) {
  v1::TableSpec* table = job_.add_tables();
  table->set_id(3);
  table->set_dim(1);
  table->add_segments()->set_width(1);
  table->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  const auto store = *PartitionStore::Create(job_, Layout(job_), PartitionIndex{0});
  EXPECT_EQ(store->FindTable(TableId{4}), nullptr);
  ASSERT_NE(store->FindTable(TableId{3}), nullptr);
  EXPECT_TRUE(store->blocks().contains(BlockId{1}));
  EXPECT_EQ(store->row_count(), 0u);
}

}  // namespace
}  // namespace capstan
