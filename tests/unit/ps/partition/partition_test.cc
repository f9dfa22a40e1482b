// What a partition does beside pulls, copies and moves, which have files of their own.
#include "ps/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tests/unit/ps/partition/pushed_partition.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr StreamId kPushedStream{7};  // That of PushedPartition::Push.
constexpr uint64_t kRow = 3;

// Asynchronous, or with two lanes.
class PartitionTest : public testing::Test {
 protected:
  static v1::JobSpec Queueing(uint32_t gradients) {
    v1::JobSpec job = PushedPartition::JobOf(v1::POLICY_KIND_ASYNC);
    job.mutable_sparse_update()->set_aggregate(gradients);
    return job;
  }
  static absl::Status Commit(PushedPartition& subject, uint64_t round) {
    ReplicaWait nobody;
    return subject.partition().CommitRound(round, PushedPartition::kTime, nobody);
  }
  static absl::Status Close(PushedPartition& subject, uint64_t batches,
                            Timeline timeline = PushedPartition::kTimeline) {
    ReplicaWait nobody;
    return subject.partition().CloseStream(timeline, kPushedStream, batches, nobody);
  }
  static uint64_t Flush(PushedPartition& subject) {
    ReplicaWait nobody;
    return subject.partition().Flush(PushedPartition::kTime, nobody);
  }
  static absl::Status Freeze(PushedPartition& subject) {
    return subject.partition().FreezeForMove(PushedPartition::kTimeline, {1, 5},
                                             PushedPartition::kTime);
  }
};

TEST_F(PartitionTest, ACommitThatIsNotKnownCannotBePassedAndOneThatIsPassedIsSoForGood) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  const RoundCommit round = subject.StageRound(1, kRow);
  const absl::Status unknown = Commit(subject, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown)) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("has passed round 0, told to commit 1"));
  EXPECT_EQ(subject.CloseRound(round), 1u);
  EXPECT_EQ(Commit(subject, 1), absl::OkStatus());
  EXPECT_EQ(Commit(subject, 1), absl::OkStatus()) << "the answer may have been lost";
  EXPECT_TRUE(absl::IsFailedPrecondition(Commit(subject, 2)));
}

TEST_F(PartitionTest, APartitionThatStandsStillPassesNoRoundAndSaysWhy) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  ASSERT_EQ(Freeze(subject), absl::OkStatus());
  EXPECT_EQ(subject.CloseRound({.round = 1, .lanes = {}}), 0u);
  const absl::Status moving = Commit(subject, 1);
  EXPECT_TRUE(absl::IsUnavailable(moving)) << moving;
  EXPECT_THAT(std::string(moving.message()), HasSubstr("on its way to another shard"));
}

TEST_F(PartitionTest, APushOfAStreamThatIsClosedHasBeenSettled) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_TRUE(absl::IsFailedPrecondition(Close(subject, 1, Timeline{2})));
  ASSERT_EQ(subject.Push(kRow, /*seq=*/1), v1::OUTCOME_APPLIED) << "the stream is still open";
  ASSERT_EQ(Close(subject, 2), absl::OkStatus());
  ASSERT_EQ(Close(subject, 2), absl::OkStatus()) << "an order that comes again";
  EXPECT_EQ(subject.Push(kRow, /*seq=*/2), v1::OUTCOME_SETTLED);
}

// Else the stream would be open where the partition goes.
TEST_F(PartitionTest, AStreamIsNotClosedWhereThePartitionIsAboutToLeave) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_APPLIED);
  ASSERT_EQ(Freeze(subject), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Close(subject, 1)));
  ASSERT_TRUE(subject.partition().ThawUnless(std::nullopt, PushedPartition::kTime));
  EXPECT_EQ(subject.Push(kRow, /*seq=*/1), v1::OUTCOME_APPLIED);
}

TEST_F(PartitionTest, AFlushAppliesWhatIsQueuedOnce) {
  PushedPartition subject(Queueing(3));
  EXPECT_EQ(Flush(subject), 0u);
  ASSERT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_QUEUED);
  ASSERT_EQ(subject.Push(kRow, /*seq=*/1), v1::OUTCOME_QUEUED);
  EXPECT_EQ(subject.partition().facts().version, 0u);
  EXPECT_EQ(Flush(subject), 2u);
  EXPECT_EQ(subject.partition().facts().version, 1u) << "their mean is one update";
  EXPECT_EQ(Flush(subject), 0u);
  EXPECT_EQ(subject.Push(kRow, /*seq=*/1), v1::OUTCOME_SETTLED);
}

TEST_F(PartitionTest, WhatIsQueuedGoesWithTheContentThatIsReplaced) {
  PushedPartition subject(Queueing(3));
  ASSERT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_QUEUED);
  subject.LoadAnew();
  EXPECT_EQ(subject.partition().facts().queued, 0u);
  EXPECT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_QUEUED) << "it is new to this content";
}

TEST_F(PartitionTest, APartitionThatIsNotHereTakesNothingInAndHasNothing) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_EQ(subject.Push(kRow, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.partition().facts().pushed_rows, 1u);
  subject.partition().Unload();
  EXPECT_FALSE(subject.partition().loaded());
  EXPECT_FALSE(subject.partition().serves());
  EXPECT_EQ(subject.Push(kRow, /*seq=*/1), v1::OUTCOME_NOT_OWNER);
  EXPECT_TRUE(absl::IsFailedPrecondition(Close(subject, 1)));
  EXPECT_EQ(subject.partition().facts().bytes, 0u);
  subject.LoadAnew();
  EXPECT_TRUE(subject.partition().serves());
  EXPECT_EQ(subject.partition().facts().pushed_rows, 0u) << "counted since it was loaded";
}

}  // namespace
}  // namespace capstan::ps
