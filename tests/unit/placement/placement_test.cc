#include "capstan/placement/placement.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

int Of(uint64_t key, uint64_t seed, uint32_t count) {
  return Raw(PartitionOfKey(key, seed, count));
}

// Golden, computed by another program: a stored job's rows would be looked for in the wrong place
// if one of these ever changed.
TEST(PartitionOfKeyTest, NeverChanges) {
  EXPECT_EQ(Of(0, 0, 256), 0);
  EXPECT_EQ(Of(1, 0, 256), 229);
  EXPECT_EQ(Of(1, 42, 256), 202);
  EXPECT_EQ(Of(123456789, 42, 100), 46);
  EXPECT_EQ(Of(std::numeric_limits<uint64_t>::max(), 7, 3), 0);
}

TEST(PartitionOfKeyTest, SpreadsConsecutiveKeysEvenly) {
  std::vector<int> keys(64);
  for (uint64_t key = 0; key < 64000; ++key) ++keys[Of(key, 9, 64)];
  for (int count : keys) EXPECT_NEAR(count, 1000, 150);
}

TEST(PartitionOfKeyTest, SpreadsTheSameKeysDifferentlyInAnotherTable) {
  int same = 0;
  for (uint64_t key = 0; key < 6400; ++key) same += Of(key, 1, 64) == Of(key, 2, 64);
  EXPECT_NEAR(same, 100, 50);
}

TEST(FirstShardMapTest, AssignsThePartitionsInTurn) {
  EXPECT_THAT(FirstShardMap(5, 2), testing::ElementsAre(0, 1, 0, 1, 0));
}

TEST(FirstShardMapTest, LeavesShardsWithoutPartitionsIfThereAreTooMany) {
  EXPECT_THAT(FirstShardMap(2, 4), testing::ElementsAre(0, 1));
}

}  // namespace
}  // namespace capstan
