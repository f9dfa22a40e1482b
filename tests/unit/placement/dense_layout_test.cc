#include "capstan/placement/dense_layout.h"

#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using Tensors = google::protobuf::RepeatedPtrField<v1::TensorSpec>;

Tensors TensorsOf(const std::vector<std::vector<uint32_t>>& shapes) {
  Tensors tensors;
  for (const std::vector<uint32_t>& shape : shapes) {
    v1::TensorSpec* tensor = tensors.Add();
    tensor->set_name("t" + std::to_string(tensors.size() - 1));
    for (uint32_t extent : shape) tensor->add_shape(extent);
  }
  return tensors;
}

DenseLayout LayoutOf(const std::vector<std::vector<uint32_t>>& shapes, uint32_t partitions) {
  return *DenseLayout::Create(TensorsOf(shapes), partitions);
}

std::vector<uint64_t> FloatsByPartition(const DenseLayout& layout) {
  std::vector<uint64_t> floats(layout.partition_count());
  for (const Block& block : layout.blocks()) floats[Raw(block.partition)] += block.length;
  return floats;
}

std::vector<int> PartitionsOf(const DenseLayout& layout) {
  std::vector<int> partitions;
  for (const Block& block : layout.blocks()) partitions.push_back(Raw(block.partition));
  return partitions;
}

TEST(DenseLayoutTest, KeepsSmallTensorsWholeAndAssignsTheLargestFirst) {
  const DenseLayout layout = LayoutOf({{10}, {30, 10}, {20}, {7}}, 2);
  // 300 to 0; then 20, 10, 7 to 1.
  EXPECT_THAT(PartitionsOf(layout), testing::ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(layout.blocks_of(PartitionIndex{1}),
              testing::ElementsAre(BlockId{0}, BlockId{2}, BlockId{3}));
}

TEST(DenseLayoutTest, GivesEqualBlocksInOrderOfIdsToThePartitionsInOrder) {
  EXPECT_THAT(PartitionsOf(LayoutOf({{8}, {8}, {8}, {8}, {8}}, 3)),
              testing::ElementsAre(0, 1, 2, 0, 1));
}

TEST(DenseLayoutTest, CoversTheFlatVectorWithoutGapsInOrderOfIds) {
  const DenseLayout layout = LayoutOf({{1000, 1000}, {3}, {70000}}, 4);
  uint64_t end = 0;
  for (const Block& block : layout.blocks()) {
    EXPECT_EQ(block.flat_offset, end);
    EXPECT_EQ(layout.tensor_offset(block.tensor) + block.offset, end);
    end += block.length;
  }
  EXPECT_EQ(end, layout.flat_size());
  EXPECT_EQ(end, 1070003u);
}

TEST(DenseLayoutTest, CutsBigTensorsIntoEqualBlocksOfAtMostAMebibyte) {
  const DenseLayout layout = LayoutOf({{300000}}, 1);
  ASSERT_EQ(layout.blocks().size(), 2u);
  EXPECT_EQ(layout.blocks()[0].length, 150000u);
  EXPECT_EQ(layout.blocks()[1].length, 150000u);
  const DenseLayout big = LayoutOf({{1u << 24}}, 1);
  for (const Block& block : big.blocks()) EXPECT_LE(block.length, kMaxBlockFloats);
}

// The weights of DeepFM with a 624-400-400-1 tower: two shards of 256 partitions get their halves.
TEST(DenseLayoutTest, SpreadsASmallModelEvenlyOverTheShards) {
  const DenseLayout layout = LayoutOf({{624, 400}, {400}, {400, 400}, {400}, {400, 1}, {1}}, 256);
  uint64_t shard0 = 0;
  for (const Block& block : layout.blocks()) {
    if (Raw(block.partition) % 2 == 0) shard0 += block.length;
  }
  EXPECT_EQ(layout.flat_size(), 410801u);
  EXPECT_NEAR(static_cast<double>(shard0) / layout.flat_size(), 0.5, 0.03);
}

TEST(DenseLayoutTest, BalancesTheBytesOfThePartitions) {
  const std::vector<uint64_t> floats =
      FloatsByPartition(LayoutOf({{1u << 24}, {5}, {1u << 20}}, 16));
  const auto [least, most] = std::minmax_element(floats.begin(), floats.end());
  EXPECT_LE(*most - *least, kMaxBlockFloats);
}

// Golden: a checkpoint's blocks would be restored to the wrong places if this ever changed.
TEST(DenseLayoutTest, NeverChanges) {
  const DenseLayout layout = LayoutOf({{100, 700}, {16384}, {33}}, 3);
  const std::vector<Block> expected = {{BlockId{0}, 0, 0, 23344, 0, PartitionIndex{0}},
                                       {BlockId{1}, 0, 23344, 23344, 23344, PartitionIndex{1}},
                                       {BlockId{2}, 0, 46688, 23312, 46688, PartitionIndex{2}},
                                       {BlockId{3}, 1, 0, 16384, 70000, PartitionIndex{2}},
                                       {BlockId{4}, 2, 0, 33, 86384, PartitionIndex{0}}};
  EXPECT_EQ(layout.blocks(), expected);
}

TEST(DenseLayoutTest, HasNoBlocksWithoutTensors) {
  const DenseLayout layout = LayoutOf({}, 4);
  EXPECT_TRUE(layout.blocks().empty());
  EXPECT_EQ(layout.flat_size(), 0u);
  EXPECT_FALSE(layout.contains(BlockId{0}));
}

TEST(DenseLayoutTest, RefusesShapesThatHoldNothingOrTooMuch) {
  EXPECT_EQ(DenseLayout::Create(TensorsOf({{3, 0}}), 4).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DenseLayout::Create(TensorsOf({{1u << 31, 1u << 31, 1u << 31}}), 4).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DenseLayout::Create(TensorsOf({{3}}), 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
