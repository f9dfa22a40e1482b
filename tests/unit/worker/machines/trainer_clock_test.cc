#include "worker/machines/trainer_clock.h"

#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

constexpr ShardIndex kShard{0};

TEST(TrainerClockTest, APushTellsTheStepsFinishedWithIt) {
  TrainerClock clock(/*start_clock=*/10);
  const uint64_t first = clock.BeginStep();
  const uint64_t second = clock.BeginStep();
  EXPECT_EQ(first, 10u);
  EXPECT_EQ(clock.ClockOfPush(kShard, first), 11u);
  EXPECT_EQ(clock.ClockOfPush(kShard, second), 10u) << "the first is not known to be there";
  clock.Finished(kShard, first, 11);
  EXPECT_EQ(clock.ClockOfPush(kShard, second), 12u);
}

TEST(TrainerClockTest, AShardThatWasToldLessIsBehind) {
  TrainerClock clock(10);
  clock.Told(kShard, 10);
  const uint64_t first = clock.BeginStep();
  const uint64_t second = clock.BeginStep();
  clock.Finished(kShard, second, 10);
  EXPECT_FALSE(clock.Behind(kShard));
  clock.Finished(kShard, first, 11);
  EXPECT_TRUE(clock.Behind(kShard));
  EXPECT_EQ(clock.ClockOf(kShard), 12u);
  clock.Told(kShard, 12);
  EXPECT_FALSE(clock.Behind(kShard));
  clock.ToldNothing(kShard);
  EXPECT_TRUE(clock.Behind(kShard));
}

TEST(TrainerClockTest, StepsGivenUpAreOver) {
  TrainerClock clock(0);
  const uint64_t first = clock.BeginStep();
  const uint64_t second = clock.BeginStep();
  clock.Over(second);
  EXPECT_EQ(clock.clock(), 0u);
  clock.Over(first);
  EXPECT_EQ(clock.clock(), 2u);
  EXPECT_EQ(clock.ClockOf(kShard), 2u);
}

TEST(TrainerClockTest, StepsThatHaveBegunAreOpenUntilTheyAreOver) {
  TrainerClock clock(10);
  const uint64_t first = clock.BeginStep();
  const uint64_t second = clock.BeginStep();
  EXPECT_EQ(clock.open_steps(), 2u);
  EXPECT_EQ(clock.steps_over(), 10u);
  clock.Over(second);
  EXPECT_EQ(clock.open_steps(), 1u) << "whichever comes first";
  EXPECT_EQ(clock.steps_over(), 11u);
  clock.Over(first);
  EXPECT_EQ(clock.open_steps(), 0u);
  clock.AdvanceTo(40);
  EXPECT_EQ(clock.open_steps(), 0u);
  EXPECT_EQ(clock.steps_over(), 40u);
}

TEST(TrainerClockTest, ALeaseThatBeginsLaterMovesTheClockOn) {
  TrainerClock clock(0);
  clock.AdvanceTo(40);
  EXPECT_EQ(clock.BeginStep(), 40u);
  clock.AdvanceTo(7);
  EXPECT_EQ(clock.clock(), 40u);
}

}  // namespace
}  // namespace capstan::worker
