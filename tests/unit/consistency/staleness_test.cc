#include "capstan/consistency/staleness.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace capstan {
namespace {

TEST(StalenessTest, BucketsGrowByHalves) {
  const uint64_t floors[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  for (size_t i = 0; i < 11; ++i) EXPECT_EQ(StalenessBucketFloor(i), floors[i]);
}

TEST(StalenessTest, EveryValueIsInTheBucketThatBeginsAtOrBelowIt) {
  for (uint64_t staleness = 0; staleness < 100'000; ++staleness) {
    const size_t bucket = StalenessBucket(staleness);
    ASSERT_LE(StalenessBucketFloor(bucket), staleness);
    ASSERT_GT(StalenessBucketFloor(bucket + 1), staleness);
  }
  EXPECT_EQ(StalenessBucket(~uint64_t{0}), kStalenessBuckets - 1);
}

TEST(StalenessTest, TheMedianIsThatOfAllThatWasCounted) {
  EXPECT_EQ(StalenessMedian(std::vector<uint64_t>{}), 0u);
  EXPECT_EQ(StalenessMedian(std::vector<uint64_t>{10, 0, 0, 0, 11}), 4u);
  EXPECT_EQ(StalenessMedian(std::vector<uint64_t>{11, 0, 0, 0, 10}), 0u);
}

TEST(StalenessTest, RowsHaveVersionsWhereGradientsAreJudgedByThem) {
  v1::UpdatePolicy policy;
  policy.set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_FALSE(CountsRowUpdates(policy));
  policy.set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  EXPECT_TRUE(CountsRowUpdates(policy));
  policy.set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  EXPECT_TRUE(CountsRowUpdates(policy));
  policy.set_kind(v1::POLICY_KIND_SYNC);
  EXPECT_FALSE(CountsRowUpdates(policy));
}

}  // namespace
}  // namespace capstan
