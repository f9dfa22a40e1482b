// A partition while a copy of it is read: what the copy holds, and when updates wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "tests/unit/ps/partition/pushed_partition.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr Timeline kCopiedIn = PushedPartition::kTimeline;
constexpr absl::Time kCopiedAt = PushedPartition::kTime;

TEST(PartitionCopyTest, HoldsTheRowsOfItsMomentWhateverIsPushedMeanwhile) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto copy = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.Push(/*key=*/4, /*seq=*/2), v1::OUTCOME_APPLIED);
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 2), Pair(4, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, OfARoundHoldsNothingOfTheNext) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  const auto copy = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u);
  EXPECT_EQ(subject.DoRound(3, /*key=*/4), 3u);
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 2), Pair(4, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, UpdatesWaitAndAreCountedWhenTheShardKeepsTooMuchForCopies) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto copy = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED) << "nothing was kept yet";
  EXPECT_GT(subject.kept().bytes(), 0);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_BUSY);
  EXPECT_EQ(subject.Push(/*key=*/4, /*seq=*/2), v1::OUTCOME_BUSY);
  EXPECT_THAT(subject.metrics(), HasSubstr("capstan_checkpoint_held_back_partitions_total 1\n"));
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));

  subject.partition().EndCopy(kCopiedAt);
  EXPECT_EQ(subject.kept().bytes(), 0);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_APPLIED);
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, ARoundThatIsClosedWhileUpdatesWaitIsAppliedAfterwards) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  const auto copy = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u) << "nothing was kept yet";
  EXPECT_EQ(subject.DoRound(3, /*key=*/3), 2u) << "it is closed, and waits";
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 3)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, ARoundThatWaitsForACopyIsCommittedLater) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt).has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u) << "nothing was kept yet";
  EXPECT_EQ(subject.DoRound(3, /*key=*/3), 2u);
  ReplicaWait nobody;
  EXPECT_TRUE(absl::IsUnavailable(subject.partition().CommitRound(3, kCopiedAt, nobody)));
  subject.partition().EndCopy(kCopiedAt);
  EXPECT_TRUE(subject.partition().CommitRound(3, kCopiedAt, nobody).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.partition().CommitRound(5, kCopiedAt, nobody)));
  subject.partition().SettleCopy("", kCopiedAt);
}

// As at a barrier that a lane kept waiting: the round was open when its shard saved the last time.
TEST(PartitionCopyTest, ARoundThatWasStagedBeforeItsShardLeavesMayEnd) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  const RoundCommit set = subject.StageRound(1, /*key=*/3);
  const auto copy =
      subject.partition().BeginCopy({.timeline = kCopiedIn, .close = true}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.CloseRound(set), 1u);
  EXPECT_THAT(subject.ReadCopy(*copy), testing::IsEmpty());
  subject.partition().SettleCopy("1-a", kCopiedAt);
}

TEST(PartitionCopyTest, AShardThatLeavesTakesGradientsAgainWhenItCouldNotBeSaved) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto save_as = [&](const std::string& id) {
    ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kCopiedIn, .close = true}, kCopiedAt));
    EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_BUSY);
    subject.partition().SettleCopy(id, kCopiedAt);
  };
  save_as("");
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  save_as("1-a");
  save_as("");
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_BUSY) << "it may leave with 1-a";
}

TEST(PartitionCopyTest, AShardThatWasSavedToLeaveAndStaysTakesGradientsFromTheNextCopyOn) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kCopiedIn, .close = true}, kCopiedAt));
  subject.partition().SettleCopy("1-a", kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_BUSY);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt));
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  subject.partition().SettleCopy("", kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
}

// A shard that saves may have handed the partition over before its turn comes.
TEST(PartitionCopyTest, OfABackupIsNotMadeAsItsRowsMayBeBehindWhatItsMachineHasSettled) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  ASSERT_TRUE(subject.Tell(/*key=*/3, /*seq=*/0).ok());
  EXPECT_TRUE(subject.partition().puts_off());
  EXPECT_FALSE(subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt).has_value());
  EXPECT_TRUE(subject.partition().puts_off());
  subject.partition().Promote(kCopiedAt);
  const auto copy = subject.partition().BeginCopy({.timeline = kCopiedIn}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
}

}  // namespace
}  // namespace capstan::ps
