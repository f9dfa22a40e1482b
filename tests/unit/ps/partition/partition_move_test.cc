// A partition that stands still on its way to another shard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ps/partition/partition.h"
#include "tests/unit/ps/partition/pushed_partition.h"

namespace capstan::ps {
namespace {

constexpr ViewEpoch kMove{1, 5};
constexpr ViewEpoch kLaterMove{1, 6};
constexpr absl::Time kFrozenAt = PushedPartition::kTime;

class PartitionMoveTest : public testing::Test {
 protected:
  static absl::Status Freeze(PushedPartition& subject, ViewEpoch move = kMove,
                             absl::Time now = kFrozenAt) {
    return subject.partition().FreezeForMove(PushedPartition::kTimeline, move, now);
  }
};

TEST_F(PartitionMoveTest, AFrozenPartitionTakesNothingUntilAViewEndsItsMove) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_TRUE(Freeze(subject).ok());
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_BUSY);
  EXPECT_FALSE(subject.partition().ThawUnless(kMove, kFrozenAt + absl::Seconds(1)))
      << "the view names the move still";
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_BUSY);
  EXPECT_EQ(subject.partition().ThawUnless(kLaterMove, kFrozenAt + absl::Seconds(4)),
            absl::Seconds(4));
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_FALSE(subject.partition().ThawUnless(std::nullopt, kFrozenAt)) << "it is not frozen";
}

TEST_F(PartitionMoveTest, AnOrderThatComesAgainDoesNotBeginTheTimeAnew) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  EXPECT_FALSE(subject.partition().FrozenFor(kFrozenAt));
  ASSERT_TRUE(Freeze(subject).ok());
  ASSERT_TRUE(Freeze(subject, kMove, kFrozenAt + absl::Seconds(2)).ok());
  EXPECT_EQ(subject.partition().FrozenFor(kFrozenAt + absl::Seconds(3)), absl::Seconds(3));
}

TEST_F(PartitionMoveTest, WhatWaitedInAQueueGoesAlong) {
  v1::JobSpec job = PushedPartition::JobOf(v1::POLICY_KIND_ASYNC);
  job.mutable_sparse_update()->set_aggregate(4);
  PushedPartition subject(job);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_QUEUED);
  ASSERT_TRUE(Freeze(subject).ok());
  EXPECT_EQ(subject.partition().facts().queued, 0u);
  EXPECT_EQ(subject.partition().facts().version, 1u);
}

TEST_F(PartitionMoveTest, AGradientOfTheOpenRoundWouldBeLeftBehindSoTheMoveWaits) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  const RoundCommit round = subject.StageRound(1, /*key=*/3);
  EXPECT_EQ(Freeze(subject),
            absl::UnavailableError("something is staged in round 1, which is open"));
  EXPECT_FALSE(subject.partition().FrozenFor(kFrozenAt));
  EXPECT_EQ(subject.CloseRound(round), 1u);
  EXPECT_TRUE(Freeze(subject).ok());
}

TEST_F(PartitionMoveTest, ARoundThatClosesWhileItIsFrozenIsPassedAfterwards) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  ASSERT_TRUE(Freeze(subject).ok());
  EXPECT_EQ(subject.CloseRound({.round = 1, .lanes = {}}), 0u);
  ASSERT_TRUE(subject.partition().ThawUnless(std::nullopt, kFrozenAt));
  EXPECT_EQ(subject.CloseRound({.round = 2, .lanes = {}}), 2u);
}

TEST_F(PartitionMoveTest, WhileACopyHoldsUpdatesBackItCannotLeave) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = PushedPartition::kTimeline}, kFrozenAt));
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_BUSY);
  EXPECT_EQ(Freeze(subject), absl::UnavailableError("updates wait until a copy has been read"));
  subject.partition().EndCopy(kFrozenAt);
  EXPECT_TRUE(Freeze(subject).ok());
  subject.partition().SettleCopy("", kFrozenAt);
}

TEST_F(PartitionMoveTest, AnotherTimelineAndAPartitionThatIsNotHereAreRefused) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  const absl::Status gone = absl::FailedPreconditionError("the partition is not here any more");
  EXPECT_EQ(subject.partition().FreezeForMove(Timeline{2}, kMove, kFrozenAt), gone);
  subject.partition().Unload();
  EXPECT_EQ(Freeze(subject), gone);
}

TEST_F(PartitionMoveTest, ItTakesTheNameOfTheMoveThatItIsFrozenForAndOfNoOther) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().TakeName(kMove);
  EXPECT_EQ(subject.partition().origin(), ViewEpoch{}) << "it is not frozen";
  ASSERT_TRUE(Freeze(subject).ok());
  subject.partition().TakeName(kLaterMove);
  EXPECT_EQ(subject.partition().origin(), ViewEpoch{});
  subject.partition().TakeName(kMove);
  EXPECT_EQ(subject.partition().origin(), kMove);
}

}  // namespace
}  // namespace capstan::ps
