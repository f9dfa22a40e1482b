// A partition and its backup on another shard; a partition as the backup of one there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ps/partition/partition.h"
#include "tests/unit/ps/partition/pushed_partition.h"
#include "tests/unit/ps/shard/parsed.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr ViewEpoch kBackedUp{1, 5};  // The pair of PushedPartition::AdoptAnew.
constexpr ViewEpoch kOtherPair{1, 6};
constexpr absl::Time kReplayedAt = PushedPartition::kTime;

class PartitionReplicaTest : public testing::Test {
 protected:
  static v1::Operation OperationOf(ViewEpoch pair) {
    v1::Operation operation;
    operation.mutable_pair()->set_term(pair.term);
    operation.mutable_pair()->set_n(pair.n);
    return operation;
  }
  static absl::Status Replay(PushedPartition& subject, const v1::Operation& operation) {
    return subject.partition().Replay(operation, {}, kReplayedAt);
  }
  // What the backup at the other end of the stream is to carry out.
  v1::ReplicateRequest Sent() const {
    return Parsed<v1::ReplicateRequest>(stream_->Next(Incarnation{7}, /*max_bytes=*/1 << 20));
  }
  bool Take(uint64_t up_to, std::optional<uint64_t> refused = std::nullopt) {
    v1::ReplicateReply reply;
    reply.set_taken(up_to);
    if (refused) reply.add_refused(*refused);
    return stream_->Taken(reply);
  }

  std::shared_ptr<ReplicaStream> stream_ = std::make_shared<ReplicaStream>(
      ReplicaTarget{"there", Incarnation{9}}, ReplicaStreamName{1, 1}, /*limit=*/1 << 20, [] {});
};

TEST_F(PartitionReplicaTest, TheBackupIsToldWhatAPushHasComeTo) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.partition().Told(), 0u);
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.partition().BackupHasAll(0).status()))
      << "there is no backup";
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.partition().Told(), 1u);
  const v1::ReplicateRequest sent = Sent();
  ASSERT_EQ(sent.operations_size(), 1);
  EXPECT_EQ(sent.operations(0).pair().n(), kBackedUp.n);
  EXPECT_EQ(sent.operations(0).push().sparse(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(sent.operations(0).push().sparse_version(), 2u);
  EXPECT_FALSE(*subject.partition().BackupHasAll(1));
  EXPECT_TRUE(Take(1));
  EXPECT_TRUE(*subject.partition().BackupHasAll(1));
}

TEST_F(PartitionReplicaTest, APushThatCanHaveChangedNothingIsNotTold) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_TRUE(
      subject.partition().FreezeForMove(PushedPartition::kTimeline, {1, 9}, kReplayedAt).ok());
  const uint64_t before = subject.partition().Told();
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_BUSY);
  EXPECT_EQ(subject.partition().Told(), before);
}

TEST_F(PartitionReplicaTest, WhoWaitsForABackupIsAnsweredWhenItIsDropped) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  std::optional<absl::Status> told;
  stream_->Await({{PartitionIndex{0}, subject.partition().Told()}},
                 [&told](const absl::Status& status) { told = status; });
  subject.partition().SetBackup(kBackedUp, nullptr);
  EXPECT_FALSE(told.has_value()) << "the pair is the present one: nothing is done";
  EXPECT_EQ(subject.partition().Told(), 1u);
  subject.partition().DropBackup();
  EXPECT_EQ(told, absl::OkStatus());
  EXPECT_EQ(subject.partition().Told(), 0u);
  subject.partition().DropBackup();
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED) << "it goes on alone";
  EXPECT_EQ(stream_->last(), 1u);
}

TEST_F(PartitionReplicaTest, WhoWaitsForTheBackupBeforeIsAnsweredWhenThereIsAnother) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  std::optional<absl::Status> told;
  stream_->Await({{PartitionIndex{0}, 1}}, [&told](const absl::Status& status) { told = status; });
  const auto other = std::make_shared<ReplicaStream>(ReplicaTarget{"elsewhere", Incarnation{10}},
                                                     ReplicaStreamName{2, 1}, 1 << 20, [] {});
  subject.partition().SetBackup(kOtherPair, other);
  EXPECT_EQ(told, absl::OkStatus()) << "it came to the other one with its copy";
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  EXPECT_EQ(stream_->last(), 1u);
  EXPECT_EQ(other->last(), 1u);
}

TEST_F(PartitionReplicaTest, ABackupThatHasRefusedSomethingIsOutOfStep) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_TRUE(Take(1, /*refused=*/1));
  EXPECT_TRUE(absl::IsDataLoss(subject.partition().BackupHasAll(1).status()));
}

TEST_F(PartitionReplicaTest, ABackupServesNobodyUntilItIsPromoted) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(subject.partition().standby(), std::nullopt);
  subject.AdoptAnew();
  EXPECT_EQ(subject.partition().standby(), kBackedUp);
  EXPECT_TRUE(subject.partition().loaded());
  EXPECT_FALSE(subject.partition().serves());
  ASSERT_EQ(subject.Tell(/*key=*/3, /*seq=*/0), absl::OkStatus());
  ASSERT_EQ(subject.Tell(/*key=*/3, /*seq=*/1), absl::OkStatus());
  subject.partition().Promote(kReplayedAt);
  EXPECT_TRUE(subject.partition().serves());
  EXPECT_EQ(subject.partition().standby(), std::nullopt);
  EXPECT_FALSE(subject.partition().puts_off()) << "all rows have been updated";
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_SETTLED) << "it knows what was pushed";
  const auto copy =
      subject.partition().BeginCopy({.timeline = PushedPartition::kTimeline}, kReplayedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_THAT(subject.ReadCopy(*copy), testing::ElementsAre(std::pair<uint64_t, float>{3, 2}));
  subject.partition().EndCopy(kReplayedAt);
  subject.partition().SettleCopy("", kReplayedAt);
}

TEST_F(PartitionReplicaTest, WhatIsPutOffIsAppliedWhenItIsAskedFor) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  EXPECT_FALSE(subject.partition().puts_off());
  ASSERT_EQ(subject.Tell(/*key=*/3, /*seq=*/0), absl::OkStatus());
  EXPECT_TRUE(subject.partition().puts_off());
  subject.partition().ApplyPutOff(kReplayedAt);
  EXPECT_FALSE(subject.partition().puts_off());
}

TEST_F(PartitionReplicaTest, APushThatComesToSomethingElseIsDataLossAndSaysBoth) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  ASSERT_EQ(subject.Tell(/*key=*/3, /*seq=*/0), absl::OkStatus());
  const absl::Status skipped = subject.Tell(/*key=*/3, /*seq=*/2);
  EXPECT_TRUE(absl::IsDataLoss(skipped)) << skipped;
  EXPECT_THAT(std::string(skipped.message()), HasSubstr("in versions 0, 2, at its owner as"));
  EXPECT_THAT(std::string(skipped.message()), HasSubstr("in versions 0, 3"));
}

TEST_F(PartitionReplicaTest, OperationsOfAnotherPairAreRefusedAndNotCarriedOut) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  v1::Operation flush = OperationOf(kBackedUp);
  flush.mutable_flush();
  EXPECT_TRUE(absl::IsFailedPrecondition(Replay(subject, flush))) << "it is the owner";
  subject.AdoptAnew();
  EXPECT_EQ(Replay(subject, flush), absl::OkStatus());
  *flush.mutable_pair() = OperationOf(kOtherPair).pair();
  EXPECT_EQ(Replay(subject, flush),
            absl::FailedPreconditionError("this is not the backup of partition 0 in pair 1.6"));
}

TEST_F(PartitionReplicaTest, AStreamThatTheOwnerHasClosedIsClosedAtTheBackup) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  ASSERT_EQ(subject.Tell(/*key=*/3, /*seq=*/0), absl::OkStatus());
  v1::Operation close = OperationOf(kBackedUp);
  close.mutable_close()->set_stream(7);
  close.mutable_close()->set_batches(1);
  ASSERT_EQ(Replay(subject, close), absl::OkStatus());
  subject.partition().Promote(kReplayedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/5), v1::OUTCOME_SETTLED);
}

TEST_F(PartitionReplicaTest, ARoundThatTheBackupCannotPassIsDataLoss) {
  PushedPartition subject(v1::POLICY_KIND_SYNC);
  subject.AdoptAnew();
  v1::Operation passed = OperationOf(kBackedUp);
  passed.set_passed(1);
  const absl::Status unknown = Replay(subject, passed);
  EXPECT_EQ(unknown, absl::DataLossError("the backup of partition 0 has passed round 0, its "
                                         "owner 1"));
}

TEST_F(PartitionReplicaTest, ForgottenSessionsAndHoldsAreTakenOver) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  v1::Operation expiry = OperationOf(kBackedUp);
  expiry.mutable_expiry()->add_sparse_sessions(uint64_t{1} << 63);
  expiry.mutable_expiry()->add_dense_sessions(uint64_t{1} << 63);
  EXPECT_EQ(Replay(subject, expiry), absl::OkStatus());
  v1::Operation hold = OperationOf(kBackedUp);
  hold.mutable_hold()->set_held(true);
  EXPECT_EQ(Replay(subject, hold), absl::OkStatus());
  subject.partition().Promote(kReplayedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED)
      << "the copy for which updates waited is over";
}

TEST_F(PartitionReplicaTest, AnOperationOfALaterReleaseIsRefused) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.AdoptAnew();
  EXPECT_TRUE(absl::IsInvalidArgument(Replay(subject, OperationOf(kBackedUp))));
}

TEST_F(PartitionReplicaTest, ABackupThatIsSpoiledIsOfNoPairAnyMore) {
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  EXPECT_FALSE(subject.partition().SpoilStandby(kBackedUp)) << "it is the owner";
  subject.AdoptAnew();
  EXPECT_FALSE(subject.partition().SpoilStandby(kOtherPair));
  EXPECT_EQ(subject.partition().standby(), kBackedUp);
  EXPECT_TRUE(subject.partition().SpoilStandby(kBackedUp));
  EXPECT_EQ(subject.partition().standby(), Partition::kSpoiled);
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.Tell(/*key=*/3, /*seq=*/0)));
  EXPECT_FALSE(subject.partition().serves());
}

TEST_F(PartitionReplicaTest, AnOwnerStandsDownOnlyForTheMoveThatItIsFrozenFor) {
  constexpr ViewEpoch kHandedOver{1, 8};
  PushedPartition subject(v1::POLICY_KIND_ASYNC);
  subject.partition().SetBackup(kBackedUp, stream_);
  ASSERT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.partition().StandDown(kHandedOver, kOtherPair, kReplayedAt), std::nullopt);
  ASSERT_TRUE(
      subject.partition().FreezeForMove(PushedPartition::kTimeline, kHandedOver, kReplayedAt).ok());
  EXPECT_EQ(subject.partition().StandDown({1, 7}, kOtherPair, kReplayedAt), std::nullopt);
  EXPECT_TRUE(subject.partition().serves());
  std::optional<absl::Status> told;
  stream_->Await({{PartitionIndex{0}, 1}}, [&told](const absl::Status& status) { told = status; });
  EXPECT_EQ(subject.partition().StandDown(kHandedOver, kOtherPair, kReplayedAt + absl::Seconds(3)),
            absl::Seconds(3));
  EXPECT_EQ(told, absl::UnavailableError("the partition is not served here any more"));
  EXPECT_FALSE(subject.partition().serves());
  EXPECT_EQ(subject.partition().standby(), kOtherPair);
  EXPECT_EQ(subject.partition().origin(), kHandedOver);
  EXPECT_EQ(subject.partition().Told(), 0u);
  v1::Operation flush = OperationOf(kOtherPair);
  flush.mutable_flush();
  EXPECT_EQ(Replay(subject, flush), absl::OkStatus()) << "it does what the new owner does";
}

}  // namespace
}  // namespace capstan::ps
