#include "capstan/data/formats/deduplicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

UniqueKeys Deduplicate(const std::vector<uint64_t>& keys) {
  UniqueKeys result;
  Deduplicator().Run(keys, result);
  return result;
}

TEST(DeduplicatorTest, KeepsFirstSeenOrder) {
  UniqueKeys result = Deduplicate({7, 0, 7, 9, 0, ~uint64_t{0}});
  EXPECT_THAT(result.unique, ElementsAre(7, 0, 9, ~uint64_t{0}));
  EXPECT_THAT(result.index, ElementsAre(0, 1, 0, 2, 1, 3));
}

TEST(DeduplicatorTest, OfNothingIsNothing) { EXPECT_THAT(Deduplicate({}).unique, IsEmpty()); }

TEST(DeduplicatorTest, TheDifferentKeysTakeNoRoomForAllThatWereGiven) {
  const UniqueKeys result = Deduplicate(std::vector<uint64_t>(1000, 7));
  EXPECT_THAT(result.unique, ElementsAre(7));
  EXPECT_EQ(result.unique.capacity(), 1u);
}

TEST(DeduplicatorTest, ForgetsEarlierBatchesOfAnySize) {
  Deduplicator deduplicator;
  UniqueKeys result;
  for (uint64_t round = 0; round < 200; ++round) {
    std::vector<uint64_t> keys;
    const uint64_t size = Draw(1, 1, round) % 3000;
    for (uint64_t i = 0; i < size; ++i) keys.push_back(Draw(2, round % 3, i) % 500);
    deduplicator.Run(keys, result);
    ASSERT_EQ(result.index.size(), keys.size());
    ASSERT_EQ(result.unique.size(), std::set<uint64_t>(keys.begin(), keys.end()).size());
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(result.unique[result.index[i]], keys[i]);
  }
}

}  // namespace
}  // namespace capstan
