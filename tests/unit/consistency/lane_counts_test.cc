// What a shard knows of the open round, by news that come late, twice or not at all.
#include "capstan/consistency/lane_counts.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan {
namespace {

ClosedLane CountedLane(int32_t lane, uint64_t count = 1) {
  return {.lane = LaneIndex{lane}, .generation = {1, count}, .examples = 4};
}

TEST(LaneCountsTest, KnowsWhatItWasToldOfTheOpenRound) {
  LaneCounts counts(Timeline{3});
  EXPECT_EQ(counts.round(), 0u);
  counts.Learn({.round = 5, .counted = {CountedLane(2)}, .ended = {LaneIndex{0}}});
  EXPECT_EQ(counts.timeline(), Timeline{3});
  EXPECT_EQ(counts.round(), 5u);
  ASSERT_NE(counts.FindCounted(LaneIndex{2}), nullptr);
  EXPECT_EQ(*counts.FindCounted(LaneIndex{2}), CountedLane(2));
  EXPECT_EQ(counts.FindCounted(LaneIndex{1}), nullptr);
  EXPECT_TRUE(counts.IsAtEnd(LaneIndex{0}));
  EXPECT_EQ(counts.counted(), 1u);
  EXPECT_EQ(counts.ended(), 1u);
}

TEST(LaneCountsTest, TheFirstCountOfALaneIsNeverTakenBack) {
  LaneCounts counts;
  counts.Learn({.round = 5, .counted = {CountedLane(2, /*count=*/7)}, .ended = {}});
  counts.Learn({.round = 5, .counted = {CountedLane(2, /*count=*/8)}, .ended = {}});
  EXPECT_EQ(counts.FindCounted(LaneIndex{2})->generation, (Generation{1, 7}));
  EXPECT_EQ(counts.counted(), 1u);
}

TEST(LaneCountsTest, ALaterRoundForgetsCountsAndKeepsEnds) {
  LaneCounts counts;
  counts.Learn({.round = 5, .counted = {CountedLane(2)}, .ended = {LaneIndex{0}}});
  counts.Learn({.round = 6, .counted = {}, .ended = {LaneIndex{1}}});
  EXPECT_EQ(counts.round(), 6u);
  EXPECT_EQ(counts.counted(), 0u);
  EXPECT_TRUE(counts.IsAtEnd(LaneIndex{0}));
  EXPECT_TRUE(counts.IsAtEnd(LaneIndex{1}));
}

TEST(LaneCountsTest, LateNewsCountNoLanesButTheirEndsHold) {
  LaneCounts counts;
  counts.Learn({.round = 6, .counted = {CountedLane(1)}, .ended = {}});
  counts.Learn({.round = 5, .counted = {CountedLane(2)}, .ended = {LaneIndex{0}}});
  EXPECT_EQ(counts.round(), 6u);
  EXPECT_EQ(counts.FindCounted(LaneIndex{2}), nullptr);
  EXPECT_TRUE(counts.IsAtEnd(LaneIndex{0}));
}

TEST(LaneCountsTest, TheNextLaneIsTheLowestThatIsNeitherCountedNorAtItsEnd) {
  LaneCounts counts;
  EXPECT_EQ(counts.NextOf(5), LaneIndex{0});
  counts.Learn({.round = 5,
                .counted = {CountedLane(1), CountedLane(3)},
                .ended = {LaneIndex{0}, LaneIndex{2}}});
  EXPECT_EQ(counts.NextOf(5), LaneIndex{4});
  EXPECT_EQ(counts.NextOf(6), LaneIndex{1}) << "in another round it is not counted";
}

TEST(LaneCountsTest, NewsComeThroughAMessageAsTheyAre) {
  const LaneNews news = {
      .round = 5, .counted = {CountedLane(3, 9), CountedLane(1)}, .ended = {LaneIndex{2}}};
  v1::WatchCountsReply message;
  ToProto(news, message);
  const absl::StatusOr<LaneNews> read = LaneNewsFromProto(message);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->round, 5u);
  EXPECT_EQ(read->counted, news.counted) << "in the order in which they were counted";
  EXPECT_EQ(read->ended, news.ended);
}

TEST(LaneCountsTest, ALaneThatNoJobCanHaveIsRefusedByItsNumber) {
  for (const uint32_t lane : {uint32_t{INT32_MAX}, ~uint32_t{0}}) {
    v1::WatchCountsReply counted;
    counted.add_counted()->set_lane(lane);
    EXPECT_TRUE(absl::IsInvalidArgument(LaneNewsFromProto(counted).status())) << lane;
    v1::WatchCountsReply ended;
    ended.add_ended(lane);
    EXPECT_TRUE(absl::IsInvalidArgument(LaneNewsFromProto(ended).status())) << lane;
  }
  v1::WatchCountsReply highest;
  highest.add_ended(INT32_MAX - 1);
  EXPECT_TRUE(LaneNewsFromProto(highest).ok());
}

}  // namespace
}  // namespace capstan
