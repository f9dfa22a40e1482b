#include "capstan/client/request_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/placement/placement.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kPartitions = 16;

ParameterMap MapOf(uint32_t dim, uint32_t dense_floats) {
  v1::JobSpec job;
  job.set_partition_count(kPartitions);
  for (uint32_t id : {7u, 9u}) {
    v1::TableSpec& table = *job.add_tables();
    table.set_id(id);
    table.set_seed(id);
    table.set_dim(dim);
  }
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(dense_floats);
  return *ParameterMap::Create(job);
}

std::vector<uint64_t> Keys(size_t count, uint64_t step) {
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(i * step);
  return keys;
}

TEST(RequestPlanTest, EveryKeyIsInItsPartitionOnceAndKnowsItsRow) {
  const ParameterMap map = MapOf(4, 10);
  const std::vector<uint64_t> first = Keys(1000, 3), second = Keys(500, 5);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, first}, TableKeys{1, second}}, /*dense=*/false);
  std::array<std::set<uint32_t>, 2> rows;
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    for (const RequestPlan::Segment& segment : plan.SegmentsOf(partition)) {
      const auto& keys = segment.table == 0 ? first : second;
      for (uint32_t i = segment.begin; i < segment.end; ++i) {
        const uint32_t row = plan.rows()[i];
        EXPECT_EQ(plan.keys()[i], keys[row]);
        EXPECT_EQ(Raw(PartitionOfKey(keys[row], map.tables()[segment.table].seed, kPartitions)),
                  static_cast<int>(partition));
        EXPECT_TRUE(rows[segment.table].insert(row).second) << "a row comes twice";
      }
    }
  }
  EXPECT_EQ(rows[0].size(), 1000u);
  EXPECT_EQ(rows[1].size(), 500u);
}

TEST(RequestPlanTest, ChunksHoldWholePartitionsOfTheirShardEachOnce) {
  const ParameterMap map = MapOf(64, 3'000'000);
  const std::vector<uint64_t> keys = Keys(20'000, 1);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, keys}}, /*dense=*/true);
  const std::vector<uint32_t> owners = FirstShardMap(kPartitions, 3);
  plan.Route(owners);
  EXPECT_THAT(plan.shards(), ElementsAre(ShardIndex{0}, ShardIndex{1}, ShardIndex{2}));
  std::set<uint32_t> seen;
  for (ShardIndex shard : plan.shards()) {
    EXPECT_GT(plan.ChunksOf(shard).size(), 1u);
    for (const RequestPlan::Chunk& chunk : plan.ChunksOf(shard)) {
      for (uint32_t partition : chunk.partitions) {
        EXPECT_EQ(owners[partition], static_cast<uint32_t>(Raw(shard)));
        EXPECT_TRUE(seen.insert(partition).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), kPartitions);
}

TEST(RequestPlanTest, AShardWithoutAnythingHasNoChunk) {
  const ParameterMap map = MapOf(4, 10);
  const uint64_t key = 5;
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, absl::MakeSpan(&key, 1)}}, /*dense=*/false);
  plan.Route(FirstShardMap(kPartitions, 2));
  ASSERT_EQ(plan.shards().size(), 1u);
  const ShardIndex other{1 - Raw(plan.shards()[0])};
  EXPECT_THAT(plan.ChunksOf(other), IsEmpty());
  EXPECT_EQ(plan.ChunksOf(plan.shards()[0]).size(), 1u);
}

TEST(RequestPlanTest, ARouteByAnotherMapMovesThePartitionsAndNothingElse) {
  const ParameterMap map = MapOf(4, 10);
  const std::vector<uint64_t> keys = Keys(100, 1);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, keys}}, /*dense=*/true);
  plan.Route(FirstShardMap(kPartitions, 2));
  const std::vector<uint32_t> rows(plan.rows().begin(), plan.rows().end());
  plan.Route(std::vector<uint32_t>(kPartitions, 5));
  EXPECT_THAT(plan.shards(), ElementsAre(ShardIndex{5}));
  EXPECT_EQ(std::vector<uint32_t>(plan.rows().begin(), plan.rows().end()), rows);
}

TEST(RequestPlanTest, SaysWhichShareIsTooLargeAndWhatWouldHelp) {
  constexpr size_t kMost = size_t{64} << 20;
  const RequestPlan::Chunk share = {.partitions = {3}};
  const ParameterMap map = MapOf(/*dim=*/128, /*dense_floats=*/10);
  const std::vector<uint64_t> fit = Keys(kPartitions * 100'000, 3);
  const std::vector<uint64_t> too_many = Keys(kPartitions * 150'000, 3);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, fit}}, /*dense=*/true);
  EXPECT_TRUE(plan.CheckSize(share, sizeof(float), kMost).ok());
  EXPECT_FALSE(plan.CheckSize(share, 2 * sizeof(float), kMost).ok())
      << "with what it was computed from";
  plan.Build(std::array{TableKeys{0, too_many}}, /*dense=*/true);
  EXPECT_TRUE(plan.CheckSize(share, sizeof(float) / 2, kMost).ok()) << "in half precision";
  const absl::Status large = plan.CheckSize(share, sizeof(float), kMost);
  EXPECT_TRUE(absl::IsInvalidArgument(large));
  EXPECT_THAT(std::string(large.message()),
              testing::AllOf(testing::HasSubstr("share of partition 3 is 1"),
                             testing::HasSubstr("75 MiB, and may be 64: raise "
                                                "partition_count (it is 16)")));
}

TEST(RequestPlanTest, APartitionIsCutIntoPiecesThatHoldEachOfItsKeysAndBlocksOnce) {
  constexpr size_t kMost = size_t{1} << 20;
  const ParameterMap map = MapOf(/*dim=*/16, /*dense_floats=*/20'000'000);
  const std::vector<uint64_t> first = Keys(300'000, 3), second = Keys(7, 5);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, first}, TableKeys{1, second}}, /*dense=*/true);
  plan.Route(std::vector<uint32_t>(kPartitions, 0));
  std::map<uint32_t, std::pair<uint32_t, size_t>> taken;  // Keys and blocks.
  std::set<uint32_t> rows_of_first;
  for (const RequestPlan::Chunk& chunk :
       plan.CutChunksOf(ShardIndex{0}, RequestPlan::Blocks::kAll, sizeof(float), 2 * kMost)) {
    ASSERT_EQ(chunk.partitions.size(), 1u);
    ASSERT_GT(chunk.pieces, 1u);
    const uint32_t partition = chunk.partitions.front();
    size_t bytes = 0;
    plan.ForSegments(chunk, partition, [&](const RequestPlan::Segment& segment) {
      const uint32_t keys = segment.end - segment.begin;
      taken[partition].first += keys;
      bytes += keys * (sizeof(uint64_t) + 16 * sizeof(float));
      for (uint32_t i = segment.begin; segment.table == 0 && i < segment.end; ++i) {
        EXPECT_TRUE(rows_of_first.insert(plan.rows()[i]).second) << "a row comes twice";
      }
    });
    for (const BlockId block : plan.BlocksOf(chunk, partition)) {
      ++taken[partition].second;
      bytes += map.layout().block(block).length * sizeof(float);
    }
    EXPECT_LE(bytes, 2 * kMost);
  }
  EXPECT_EQ(rows_of_first.size(), first.size());
  ASSERT_EQ(taken.size(), kPartitions);
  for (const auto& [partition, counts] : taken) {
    uint32_t keys = 0;
    for (const RequestPlan::Segment& segment : plan.SegmentsOf(partition)) {
      keys += segment.end - segment.begin;
    }
    EXPECT_EQ(counts, std::pair(keys, plan.BlocksOf(partition).size()));
  }
}

TEST(RequestPlanTest, TheFirstPartitionWithRowsIsThatOfNoBlock) {
  const ParameterMap map = MapOf(4, 100'000);  // Blocks are in many partitions.
  RequestPlan plan(map);
  EXPECT_EQ(plan.first_with_rows(), std::nullopt);
  for (const uint64_t key : {1u, 2u, 3u, 4u, 5u}) {
    const std::vector<uint64_t> alone = {key};
    plan.Build(std::array{TableKeys{1, alone}}, /*dense=*/true);
    const auto partition =
        static_cast<uint32_t>(Raw(PartitionOfKey(key, map.tables()[1].seed, kPartitions)));
    EXPECT_EQ(plan.first_with_rows(), partition);
  }
  const std::vector<uint64_t> many = Keys(1000, 1);
  plan.Build(std::array{TableKeys{0, many}}, /*dense=*/false);
  EXPECT_EQ(plan.first_with_rows(), 0u);
  plan.Build({}, /*dense=*/true);
  EXPECT_EQ(plan.first_with_rows(), std::nullopt);
}

TEST(RequestPlanTest, IsReusedForAnEmptyBatch) {
  const ParameterMap map = MapOf(4, 10);
  const std::vector<uint64_t> keys = Keys(100, 1);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, keys}}, /*dense=*/false);
  plan.Build({}, /*dense=*/false);
  plan.Route(FirstShardMap(kPartitions, 2));
  EXPECT_THAT(plan.shards(), IsEmpty());
  EXPECT_THAT(plan.keys(), IsEmpty());
}

TEST(RequestPlanTest, OfOneTensorItHasTheBlocksAlone) {
  v1::JobSpec job;
  job.set_partition_count(3);
  for (const uint32_t floats : {100'000u, 70'000u, 5u}) {
    job.add_tensors()->add_shape(floats);
  }
  const ParameterMap map = *ParameterMap::Create(job);
  RequestPlan plan(map);
  for (const uint32_t tensor : {0u, 1u, 2u}) {
    plan.BuildTensor(tensor);
    std::set<uint32_t> planned, expected, partitions;
    for (uint32_t partition = 0; partition < 3; ++partition) {
      for (const BlockId block : plan.BlocksOf(partition)) planned.insert(Raw(block));
    }
    for (const Block& block : map.layout().blocks()) {
      if (block.tensor != tensor) continue;
      expected.insert(Raw(block.id));
      partitions.insert(static_cast<uint32_t>(Raw(block.partition)));
    }
    EXPECT_EQ(planned, expected);
    plan.Route(std::array{0u, 1u, 2u});
    EXPECT_EQ(plan.shards().size(), partitions.size());
  }
  plan.Build({}, /*dense=*/true);
  size_t all = 0;
  for (uint32_t partition = 0; partition < 3; ++partition) all += plan.BlocksOf(partition).size();
  EXPECT_EQ(all, map.layout().blocks().size());
}

// A trained tensor of one block and a frozen one of several, and a key.
TEST(RequestPlanTest, FrozenTensorsAreInNoCallButOneThatAsksForAll) {
  v1::JobSpec job;
  job.set_partition_count(kPartitions);
  job.add_tables()->set_dim(2);
  for (const uint32_t size : {10u, 5 * kMinBlockFloats}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(absl::StrCat("w", size));
    tensor.add_shape(size);
  }
  job.mutable_tensors(1)->set_role(v1::TENSOR_ROLE_FROZEN);
  const ParameterMap map = *ParameterMap::Create(job);
  ASSERT_EQ(map.frozen().size(), 1u);
  EXPECT_EQ(map.frozen()[0].begin, 10u);
  EXPECT_EQ(map.frozen()[0].count, 5 * kMinBlockFloats);
  const std::vector<uint64_t> keys = Keys(1, 1);
  RequestPlan plan(map);
  plan.Build(std::array{TableKeys{0, keys}}, /*dense=*/true);
  plan.Route(std::vector<uint32_t>(kPartitions, 0));
  const auto tensors_of = [&](RequestPlan::Blocks blocks, const auto& chunks) {
    std::multiset<uint32_t> tensors;
    for (const RequestPlan::Chunk& chunk : chunks) {
      for (const uint32_t partition : chunk.partitions) {
        EXPECT_FALSE(plan.SegmentsOf(partition).empty() && plan.BlocksOf(partition, blocks).empty())
            << "a partition is asked for nothing";
        for (const BlockId block : plan.BlocksOf(chunk, partition)) {
          tensors.insert(map.layout().block(block).tensor);
        }
      }
    }
    return tensors;
  };
  const auto cut = [&plan](RequestPlan::Blocks blocks) {
    return plan.CutChunksOf(ShardIndex{0}, blocks, sizeof(float), size_t{1} << 20);
  };
  using enum RequestPlan::Blocks;
  EXPECT_THAT(tensors_of(kChanging, plan.ChunksOf(ShardIndex{0})), ElementsAre(0));
  EXPECT_THAT(tensors_of(kChanging, cut(kChanging)), ElementsAre(0));
  EXPECT_THAT(tensors_of(kAll, cut(kAll)), ElementsAre(0, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace capstan
