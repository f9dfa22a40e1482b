// Where the rounds stand, as one coordinator tells the next, or its backup.
#include "ps/shard/coordinator_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace capstan::ps {
namespace {

using testing::ElementsAre;

// Two lanes, of which the first is counted in the open round and the second has ended.
CoordinatorState StateOfTwoLanes() {
  CoordinatorState state;
  state.last = {.round = 7,
                .lanes = {{.lane = LaneIndex{0}, .generation = {3, 4}, .examples = 5},
                          {.lane = LaneIndex{1}, .generation = {3, 6}, .examples = 2}}};
  state.lanes = {{.cursor = 70,
                  .ended = false,
                  .fence = {3, 4},
                  .counted_round = 8,
                  .counted_generation = {3, 4}},
                 {.cursor = 69, .ended = true, .fence = {3, 6}}};
  state.open = OpenRound{.counted = {{.lane = LaneIndex{0}, .generation = {3, 4}, .examples = 9}},
                         .ended = {LaneIndex{1}},
                         .opened = true,
                         .held = true,
                         .stalled = true,
                         .order = {3, 12}};
  return state;
}

v1::CoordinatorOperation ToldOf(const CoordinatorState& state) {
  v1::CoordinatorOperation told;
  ToProto(state, *told.mutable_state());
  ToProto(*state.open, *told.mutable_open());
  return told;
}

TEST(CoordinatorStartTest, TheNextCoordinatorHasTheLastRoundAndWhereEachLaneStands) {
  const CoordinatorState before = StateOfTwoLanes();
  const absl::StatusOr<CoordinatorState> after = CoordinatorStateFromProto(ToldOf(before).state());
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->last, before.last);
  ASSERT_EQ(after->lanes.size(), 2u);
  for (size_t lane : {0, 1}) {
    EXPECT_EQ(after->lanes[lane].cursor, before.lanes[lane].cursor);
    EXPECT_EQ(after->lanes[lane].ended, before.lanes[lane].ended);
    EXPECT_EQ(after->lanes[lane].fence, before.lanes[lane].fence);
    EXPECT_EQ(after->lanes[lane].counted_round, before.lanes[lane].counted_round);
    EXPECT_EQ(after->lanes[lane].counted_generation, before.lanes[lane].counted_generation);
  }
  EXPECT_FALSE(after->open.has_value()) << "an open round is told to a backup alone";
}

TEST(CoordinatorStartTest, ABackupHasTheOpenRoundInTheOrderInWhichLanesWereCounted) {
  const CoordinatorState before = StateOfTwoLanes();
  const absl::StatusOr<CoordinatorState> after = CoordinatorStateFromProto(ToldOf(before));
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_TRUE(after->open.has_value());
  EXPECT_EQ(after->open->counted, before.open->counted);
  EXPECT_THAT(after->open->ended, ElementsAre(LaneIndex{1}));
  EXPECT_TRUE(after->open->opened);
  EXPECT_TRUE(after->open->held);
  EXPECT_TRUE(after->open->stalled);
  EXPECT_EQ(after->open->order, before.open->order);
}

TEST(CoordinatorStartTest, ALastRoundWhoseLanesDoNotAscendIsRefused) {
  v1::CoordinatorOperation told = ToldOf(StateOfTwoLanes());
  told.mutable_state()->mutable_last()->mutable_lanes()->SwapElements(0, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(CoordinatorStateFromProto(told.state()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CoordinatorStateFromProto(told).status()));
}

TEST(CoordinatorStartTest, AnOpenRoundOfLanesThatThereAreNotIsRefused) {
  for (const uint32_t lane : {2u, 0x80000000u, 0xFFFFFFFFu}) {
    v1::CoordinatorOperation counted = ToldOf(StateOfTwoLanes());
    counted.mutable_open()->mutable_counted(0)->set_lane(lane);
    EXPECT_TRUE(absl::IsInvalidArgument(CoordinatorStateFromProto(counted).status())) << lane;
    v1::CoordinatorOperation ended = ToldOf(StateOfTwoLanes());
    ended.mutable_open()->set_ended(0, lane);
    EXPECT_TRUE(absl::IsInvalidArgument(CoordinatorStateFromProto(ended).status())) << lane;
  }
  EXPECT_TRUE(CoordinatorStateFromProto(v1::CoordinatorOperation()).ok()) << "of no lanes";
}

}  // namespace
}  // namespace capstan::ps
