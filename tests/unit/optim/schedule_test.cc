#include "capstan/optim/schedule.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

v1::ScheduleSpec Schedule(v1::ScheduleKind kind, uint64_t decay_examples, float decay_rate) {
  v1::ScheduleSpec schedule;
  schedule.set_kind(kind);
  schedule.set_decay_examples(decay_examples);
  schedule.set_decay_rate(decay_rate);
  return schedule;
}

TEST(ScheduleFactorTest, IsOneWithoutASchedule) {
  EXPECT_EQ(ScheduleFactor(v1::ScheduleSpec(), 0), 1);
  EXPECT_EQ(ScheduleFactor(v1::ScheduleSpec(), 1'000'000'000'000), 1);
}

TEST(ScheduleFactorTest, WarmsUpInAStraightLine) {
  v1::ScheduleSpec schedule;
  schedule.set_warmup_examples(1000);
  EXPECT_EQ(ScheduleFactor(schedule, 0), 0);
  EXPECT_DOUBLE_EQ(ScheduleFactor(schedule, 250), 0.25);
  EXPECT_EQ(ScheduleFactor(schedule, 1000), 1);
}

TEST(ScheduleFactorTest, StepsDownAfterEachDecay) {
  const v1::ScheduleSpec schedule = Schedule(v1::SCHEDULE_KIND_STEP, 100, 0.5f);
  EXPECT_EQ(ScheduleFactor(schedule, 99), 1);
  EXPECT_EQ(ScheduleFactor(schedule, 100), 0.5);
  EXPECT_EQ(ScheduleFactor(schedule, 399), 0.125);
}

TEST(ScheduleFactorTest, DecaysExponentiallyBetweenTheSteps) {
  const v1::ScheduleSpec schedule = Schedule(v1::SCHEDULE_KIND_EXPONENTIAL, 100, 0.25f);
  EXPECT_DOUBLE_EQ(ScheduleFactor(schedule, 50), 0.5);
  EXPECT_DOUBLE_EQ(ScheduleFactor(schedule, 200), 0.0625);
}

TEST(ScheduleFactorTest, FollowsHalfACosineToTheFloorAndStaysThere) {
  v1::ScheduleSpec schedule = Schedule(v1::SCHEDULE_KIND_COSINE, 100, 0);
  schedule.set_floor(0.2f);
  EXPECT_NEAR(ScheduleFactor(schedule, 0), 1, 1e-12);
  EXPECT_NEAR(ScheduleFactor(schedule, 50), 0.6, 1e-7);
  EXPECT_NEAR(ScheduleFactor(schedule, 100), 0.2, 1e-7);
  EXPECT_NEAR(ScheduleFactor(schedule, 5000), 0.2, 1e-7);
}

TEST(ScheduleFactorTest, CountsTheDecayFromTheEndOfTheWarmUp) {
  v1::ScheduleSpec schedule = Schedule(v1::SCHEDULE_KIND_STEP, 100, 0.5f);
  schedule.set_warmup_examples(50);
  EXPECT_EQ(ScheduleFactor(schedule, 149), 1);
  EXPECT_EQ(ScheduleFactor(schedule, 150), 0.5);
}

TEST(ScheduleFactorTest, NeverFallsBelowTheFloor) {
  v1::ScheduleSpec schedule = Schedule(v1::SCHEDULE_KIND_EXPONENTIAL, 10, 0.1f);
  schedule.set_floor(0.05f);
  EXPECT_FLOAT_EQ(ScheduleFactor(schedule, 1000), 0.05f);
}

TEST(ScheduleFactorTest, IsConstantWithoutAKindAndAWarmUp) {
  v1::ScheduleSpec schedule;
  EXPECT_TRUE(IsConstant(schedule));
  schedule.set_warmup_examples(1);
  EXPECT_FALSE(IsConstant(schedule));
  EXPECT_FALSE(IsConstant(Schedule(v1::SCHEDULE_KIND_STEP, 100, 0.5f)));
}

TEST(LearningRateTest, IsTheBaseRateTimesTheFactor) {
  v1::OptimizerSpec spec;
  spec.set_learning_rate(0.2f);
  *spec.mutable_schedule() = Schedule(v1::SCHEDULE_KIND_STEP, 100, 0.5f);
  EXPECT_FLOAT_EQ(LearningRate(spec, 100), 0.1f);
}

TEST(CheckScheduleTest, RefusesWhatIsNoSchedule) {
  EXPECT_TRUE(CheckSchedule(v1::ScheduleSpec()).ok());
  EXPECT_FALSE(CheckSchedule(Schedule(v1::SCHEDULE_KIND_STEP, 0, 0.5f)).ok());
  EXPECT_FALSE(CheckSchedule(Schedule(v1::SCHEDULE_KIND_STEP, 10, 0)).ok());
  EXPECT_FALSE(CheckSchedule(Schedule(v1::SCHEDULE_KIND_EXPONENTIAL, 10, std::nanf(""))).ok());
  EXPECT_FALSE(CheckSchedule(Schedule(static_cast<v1::ScheduleKind>(99), 10, 1)).ok());
  v1::ScheduleSpec schedule;
  schedule.set_floor(2);
  EXPECT_FALSE(CheckSchedule(schedule).ok());
}

}  // namespace
}  // namespace capstan
