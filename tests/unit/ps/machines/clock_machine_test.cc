#include "ps/machines/clock_machine.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

const absl::Time kLater = absl::UnixEpoch() + absl::Seconds(5);
constexpr TrainerId kFast{1};
constexpr TrainerId kSlow{2};

constexpr size_t kBytes = 1000;  // Of a pull's request.

ClockMachine Two(uint64_t bound) {
  ClockMachine clocks(bound);
  const QuorumTrainer trainers[] = {{kFast, 0}, {kSlow, 0}};
  clocks.SetQuorum(trainers);
  return clocks;
}

TEST(ClockMachineTest, TheFastWaitExactlyBeyondTheBound) {
  ClockMachine clocks = Two(/*bound=*/2);
  clocks.Finished(kFast, 3);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, /*step=*/2, kLater, kBytes), PullWait::kGo);
  EXPECT_EQ(clocks.Pull(WaiterId{2}, /*step=*/3, kLater, kBytes), PullWait::kParked);
  const PullAnswers answers = clocks.Finished(kSlow, 1);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].waiter, WaiterId{2});
  EXPECT_TRUE(answers[0].status.ok());
  EXPECT_EQ(clocks.spread(), 2u);
}

TEST(ClockMachineTest, WhoLeavesTheQuorumHoldsNobodyUp) {
  ClockMachine clocks = Two(/*bound=*/0);
  clocks.Finished(kFast, 5);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, 5, kLater, kBytes), PullWait::kParked);
  const QuorumTrainer alone[] = {{kFast, 0}};
  EXPECT_EQ(clocks.SetQuorum(alone).size(), 1u);
}

TEST(ClockMachineTest, AJoinerBeginsAtItsStartClockOrAtWhatItHasTold) {
  ClockMachine clocks(0);
  clocks.Finished(kSlow, 9);  // Before the view names it.
  const QuorumTrainer trainers[] = {{kFast, 4}, {kSlow, 4}};
  clocks.SetQuorum(trainers);
  EXPECT_EQ(clocks.slowest(), 4u);
  clocks.Finished(kFast, 8);
  EXPECT_EQ(clocks.slowest(), 8u);
}

TEST(ClockMachineTest, ATrainerThatComesBackKeepsItsClock) {
  ClockMachine clocks = Two(0);
  clocks.Finished(kSlow, 7);
  const QuorumTrainer alone[] = {{kFast, 0}};
  clocks.SetQuorum(alone);
  const QuorumTrainer both[] = {{kFast, 7}, {kSlow, 3}};
  clocks.SetQuorum(both);
  EXPECT_EQ(clocks.slowest(), 7u);
}

TEST(ClockMachineTest, WithAPartitionNobodyHasFinishedMoreThanWhereItComesFrom) {
  ClockMachine clocks = Two(/*bound=*/0);
  clocks.Finished(kFast, 4);
  clocks.Finished(kSlow, 3);
  const FinishedClock there[] = {{kFast, 3}, {kSlow, 4}, {TrainerId{7}, 9}};
  clocks.TakeOver(there, /*had_none=*/false);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, /*step=*/3, kLater, kBytes), PullWait::kGo);
  EXPECT_EQ(clocks.Pull(WaiterId{2}, /*step=*/4, kLater, kBytes), PullWait::kParked);
  clocks.Finished(kSlow, 4);
  EXPECT_EQ(clocks.Finished(kFast, 4).size(), 1u) << "it tells again";
  const QuorumTrainer another[] = {{TrainerId{7}, 0}};
  clocks.SetQuorum(another);
  EXPECT_EQ(clocks.slowest(), 0u) << "here it may have finished less";
}

TEST(ClockMachineTest, WhoWaitsSinceAPartitionCameIsReleasedWhenItIsToldAgainWhatWasFinished) {
  ClockMachine clocks = Two(/*bound=*/1);
  clocks.Finished(kFast, 11);
  clocks.Finished(kSlow, 10);
  const FinishedClock there[] = {{kSlow, 9}};
  clocks.TakeOver(there, /*had_none=*/false);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, /*step=*/11, kLater, kBytes), PullWait::kParked);
  EXPECT_EQ(clocks.Finished(kSlow, 10).size(), 1u);
}

TEST(ClockMachineTest, AShardThatHadNothingKnowsWhatIsKnownWhereItsFirstPartitionComesFrom) {
  ClockMachine clocks(/*bound=*/0);
  const FinishedClock there[] = {{kFast, 5}, {kSlow, 4}};
  clocks.TakeOver(there, /*had_none=*/true);
  const QuorumTrainer both[] = {{kFast, 0}, {kSlow, 0}};
  clocks.SetQuorum(both);
  EXPECT_EQ(clocks.slowest(), 4u);
}

TEST(ClockMachineTest, InALaterTimelineNothingCountsThatWasFinishedBefore) {
  ClockMachine clocks = Two(/*bound=*/0);
  clocks.Finished(kFast, 7);
  clocks.Finished(kSlow, 5);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, /*step=*/7, kLater, kBytes), PullWait::kParked);
  const PullAnswers answers = clocks.Restart();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(answers[0].status));
  const QuorumTrainer both[] = {{kFast, 0}, {kSlow, 0}};
  clocks.SetQuorum(both);
  EXPECT_EQ(clocks.slowest(), 0u);
  EXPECT_EQ(clocks.Pull(WaiterId{2}, /*step=*/1, kLater, kBytes), PullWait::kParked);
}

TEST(ClockMachineTest, EveryWaitHasADeadline) {
  ClockMachine clocks = Two(0);
  EXPECT_EQ(clocks.Pull(WaiterId{1}, 1, kLater, kBytes), PullWait::kParked);
  EXPECT_TRUE(clocks.Tick(kLater - absl::Seconds(1)).empty());
  const PullAnswers answers = clocks.Tick(kLater);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers[0].status));
  EXPECT_EQ(clocks.parked(), 0u);
}

TEST(ClockMachineTest, ParksABoundedNumberOfPulls) {
  ClockMachine clocks = Two(0);
  for (uint64_t i = 0; i < ClockMachine::kMaxParked; ++i) {
    ASSERT_EQ(clocks.Pull(WaiterId{i}, 1, kLater, kBytes), PullWait::kParked);
  }
  EXPECT_EQ(clocks.Pull(WaiterId{1u << 20}, 1, kLater, kBytes), PullWait::kFull);
  clocks.Forget(WaiterId{0});
  EXPECT_EQ(clocks.Pull(WaiterId{1u << 20}, 1, kLater, kBytes), PullWait::kParked);
}

TEST(ClockMachineTest, WhereThereIsLessMemoryFewerBytesAreParked) {
  ClockMachine clocks = Two(0);
  clocks.SetParkedLimit(2 * kBytes);
  ASSERT_EQ(clocks.Pull(WaiterId{1}, 1, kLater, kBytes), PullWait::kParked);
  ASSERT_EQ(clocks.Pull(WaiterId{2}, 1, kLater, kBytes), PullWait::kParked);
  EXPECT_EQ(clocks.parked_bytes(), 2 * kBytes);
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 1, kLater, kBytes), PullWait::kFull);
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 0, kLater, kBytes), PullWait::kGo)
      << "the slowest is never held up by those who wait for it";
  clocks.Forget(WaiterId{1});
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 1, kLater, kBytes), PullWait::kParked);
}

TEST(ClockMachineTest, ParksABoundedNumberOfBytes) {
  ClockMachine clocks = Two(0);
  constexpr size_t kHalf = ClockMachine::kMaxParkedBytes / 2;
  ASSERT_EQ(clocks.Pull(WaiterId{1}, 1, kLater, kHalf), PullWait::kParked);
  ASSERT_EQ(clocks.Pull(WaiterId{2}, 1, kLater, kHalf), PullWait::kParked);
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 1, kLater, 1), PullWait::kFull);
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 0, kLater, 1), PullWait::kGo)
      << "whoever need not wait goes on";
  clocks.Forget(WaiterId{1});
  EXPECT_EQ(clocks.Pull(WaiterId{3}, 1, kLater, kHalf), PullWait::kParked);
  EXPECT_EQ(clocks.Tick(kLater).size(), 2u);
  EXPECT_EQ(clocks.Pull(WaiterId{4}, 1, kLater, 2 * kHalf), PullWait::kParked);
  (void)clocks.Restart();
  const QuorumTrainer alone[] = {{TrainerId{1}, 0}};
  (void)clocks.SetQuorum(alone);
  EXPECT_EQ(clocks.Pull(WaiterId{5}, 1, kLater, 2 * kHalf), PullWait::kParked);
}

}  // namespace
}  // namespace capstan::ps
