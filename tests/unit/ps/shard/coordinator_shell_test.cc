// Who waits for the coordinator of rounds, and what its backup has to know before they are
// answered.
#include "ps/shard/coordinator_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "capstan/security/seal.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

Catalog TwoLanes() {
  v1::JobSpec job;
  job.set_partition_count(1);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(2);
  }
  absl::StatusOr<Catalog> catalog = Catalog::Create(job);
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return *std::move(catalog);
}

class CoordinatorShellTest : public testing::Test {
 protected:
  static constexpr uint64_t kTimeline = 3;
  static constexpr ViewEpoch kPair{2, 9};

  // What a call has come to; nothing while it waits.
  using Opened = std::optional<absl::StatusOr<OpenAnswer>>;

  std::optional<WaiterId> Open(uint32_t lane, Opened& became, uint64_t timeline = kTimeline) {
    v1::OpenRoundRequest request;
    request.mutable_header()->set_timeline(timeline);
    request.set_lane(lane);
    request.mutable_generation()->set_term(1);
    request.mutable_generation()->set_count(lane + 1);
    request.set_wait_seconds(wait_seconds_);
    return shell_.Open(request,
                       [&became](const absl::StatusOr<OpenAnswer>& answer) { became = answer; });
  }
  absl::StatusOr<v1::ReportLaneReply> Report(uint32_t lane, uint64_t round) {
    v1::ReportLaneRequest request;
    request.mutable_header()->set_timeline(kTimeline);
    request.set_lane(lane);
    request.mutable_generation()->set_term(1);
    request.mutable_generation()->set_count(lane + 1);
    request.set_round(round);
    request.set_examples(10);
    ReplicaWait replicated;
    return shell_.Report(request, replicated);
  }
  // The backup has carried out all that it was told.
  void BackupTakesAll() {
    (void)stream_->Next(Incarnation{7}, 1 << 20);
    v1::ReplicateReply reply;
    reply.set_taken(stream_->last());
    stream_->Taken(reply);
  }

  double wait_seconds_ = 5;  // In each call of Open.
  FakeClock clock_;
  const Catalog catalog_ = TwoLanes();
  const ShardIdentity identity_{ShardIndex{4}, Incarnation{7}};
  SealCheck seals_{/*lanes=*/2};
  std::shared_ptr<ReplicaStream> stream_ = std::make_shared<ReplicaStream>(
      ReplicaTarget{"there", Incarnation{5}}, ReplicaStreamName{3, 2}, /*limit=*/1 << 20, [] {});
  CoordinatorShell shell_{catalog_, identity_, seals_, clock_};
};

TEST_F(CoordinatorShellTest, WhereItIsNotOrInAnotherTimelineItSaysSo) {
  Opened became;
  EXPECT_EQ(Open(0, became), std::nullopt);
  ASSERT_TRUE(became.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(became->status()));
  EXPECT_THAT(std::string(became->status().message()),
              HasSubstr("shard 4 is not the coordinator of rounds in timeline 3"));
  shell_.Begin(kTimeline + 1, std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(Report(0, 1).status()));
}

TEST_F(CoordinatorShellTest, ALaneThatHasReportedWaitsUntilTheRoundIsClosed) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened first, second, next;
  Open(0, first);
  Open(1, second);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ((*first)->round, 1u);
  ASSERT_TRUE(Report(0, 1).ok());
  EXPECT_TRUE(Open(0, next).has_value());
  EXPECT_FALSE(next.has_value()) << "lane 1 is not in";
  ASSERT_TRUE(Report(1, 1).ok());
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ((*next)->round, 2u);
  EXPECT_EQ((*next)->closed.round, 1u);
}

TEST_F(CoordinatorShellTest, TheCommitThatAnotherShardIsToldBearsTheCoordinatorsSeal) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened first, second;
  Open(0, first);
  Open(1, second);
  ASSERT_TRUE(Report(0, 1).ok());
  ASSERT_TRUE(Report(1, 1).ok());
  const Sealer sealer("the key");
  seals_.SetSealer(sealer);
  v1::WatchCountsRequest watch;
  watch.mutable_header()->set_timeline(kTimeline);
  watch.set_round(1);
  watch.set_commit(true);
  std::optional<NewsAnswer> told;
  shell_.Watch(watch, absl::InfiniteFuture(), [&told](const NewsAnswer& news) { told = news; });
  ASSERT_TRUE(told.has_value());
  ASSERT_TRUE(told->closed.has_value());
  EXPECT_EQ(told->closed->lanes.size(), 2u);
  EXPECT_EQ(told->closed->seal, sealer.OfRound(kTimeline, *told->closed));
}

TEST_F(CoordinatorShellTest, WhoeverWaitsForOneThatIsReplacedIsToldToAskAgain) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened first, waiting;
  Open(0, first);
  ASSERT_TRUE(Report(0, 1).ok());
  Open(0, waiting);
  ASSERT_FALSE(waiting.has_value());
  shell_.End();
  ASSERT_TRUE(waiting.has_value());
  ASSERT_TRUE(waiting->ok()) << waiting->status();
  EXPECT_EQ((*waiting)->answer, v1::OpenRoundReply::ANSWER_WAIT);
}

TEST_F(CoordinatorShellTest, NobodyWaitsForLongerThanAMinuteWhateverNumberItAsksFor) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened first, waiting;
  Open(0, first);
  ASSERT_TRUE(Report(0, 1).ok());
  wait_seconds_ = std::numeric_limits<double>::infinity();
  Open(0, waiting);
  clock_.Advance(absl::Seconds(59));
  shell_.Tick();
  ASSERT_FALSE(waiting.has_value());
  clock_.Advance(absl::Seconds(1));
  shell_.Tick();
  ASSERT_TRUE(waiting.has_value() && waiting->ok());
  EXPECT_EQ((*waiting)->answer, v1::OpenRoundReply::ANSWER_WAIT);
  waiting.reset();
  wait_seconds_ = std::numeric_limits<double>::quiet_NaN();
  Open(0, waiting);
  shell_.Tick();
  ASSERT_TRUE(waiting.has_value() && waiting->ok()) << "what is no number is no wait";
  EXPECT_EQ((*waiting)->answer, v1::OpenRoundReply::ANSWER_WAIT);
}

TEST_F(CoordinatorShellTest, ACallThatIsForgottenIsNotAnsweredAnyMore) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened first, waiting;
  Open(0, first);
  ASSERT_TRUE(Report(0, 1).ok());
  const std::optional<WaiterId> waiter = Open(0, waiting);
  ASSERT_TRUE(waiter.has_value());
  EXPECT_TRUE(shell_.Forget(*waiter));
  shell_.End();
  EXPECT_FALSE(waiting.has_value());
}

TEST_F(CoordinatorShellTest, OnItsWayToAnotherShardItAnswersNobodyUntilItStays) {
  shell_.Begin(kTimeline, std::nullopt);
  ASSERT_TRUE(shell_.Silence().ok());
  EXPECT_TRUE(absl::IsUnavailable(Report(0, 1).status()));
  shell_.Resume();
  Opened became;
  Open(0, became);
  ASSERT_TRUE(became.has_value() && became->ok());
}

TEST_F(CoordinatorShellTest, WithALaneCountedInTheOpenRoundItDoesNotLeave) {
  shell_.Begin(kTimeline, std::nullopt);
  Opened became;
  Open(0, became);
  ASSERT_TRUE(Report(0, 1).ok());
  EXPECT_TRUE(absl::IsUnavailable(shell_.Silence().status()));
  ASSERT_TRUE(Report(1, 1).ok()) << "it goes on where it is";
}

TEST_F(CoordinatorShellTest, NobodyIsAnsweredBeforeTheBackupKnowsWhatTheAnswerRestsOn) {
  shell_.Begin(kTimeline, std::nullopt);
  shell_.SetBackup(stream_, kPair);
  Opened became;
  Open(0, became);
  EXPECT_FALSE(became.has_value()) << "the backup has not been told that the round is open";
  BackupTakesAll();
  ASSERT_TRUE(became.has_value());
  EXPECT_EQ((*became)->round, 1u);
}

TEST_F(CoordinatorShellTest, ABackupOfAnotherPairIsToldNothingMore) {
  shell_.Begin(kTimeline, std::nullopt);
  shell_.SetBackup(stream_, kPair);
  shell_.DropBackupUnless(kPair);
  Opened first, second;
  Open(0, first);
  EXPECT_FALSE(first.has_value());
  const uint64_t told = stream_->last();
  shell_.DropBackupUnless(ViewEpoch{2, 10});
  Open(1, second);
  EXPECT_TRUE(second.has_value());
  EXPECT_EQ(stream_->last(), told);
}

TEST_F(CoordinatorShellTest, ABackupGoesOnWhereTheOwnerHasToldItThatItStands) {
  CoordinatorState state;
  state.last.round = 6;
  state.lanes.resize(2);
  EXPECT_FALSE(shell_.StandBy(state, [] { return false; }));
  EXPECT_TRUE(shell_.StandBy(state, [] { return true; }));
  shell_.BeginAsBackup(kTimeline, {});
  Opened became;
  Open(0, became);
  ASSERT_TRUE(became.has_value() && became->ok());
  EXPECT_EQ((*became)->round, 7u);
}

TEST_F(CoordinatorShellTest, WhoStandsDownGoesOnFromThereWhenItIsPromotedAndTellsItsBackupAtOnce) {
  CoordinatorState state;
  state.last.round = 6;
  state.lanes.resize(2);
  shell_.Begin(kTimeline, state);
  ASSERT_TRUE(shell_.Silence().ok());
  shell_.StandDown();
  Opened meanwhile;
  Open(0, meanwhile);
  ASSERT_TRUE(meanwhile.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(meanwhile->status()));
  shell_.BeginAsBackup(kTimeline, {stream_, ViewEpoch{2, 12}});
  const uint64_t told = stream_->last();
  Opened became;
  Open(0, became);
  EXPECT_FALSE(became.has_value()) << "its backup has not heard of it";
  EXPECT_EQ(stream_->last(), told + 1);
}

}  // namespace
}  // namespace capstan::ps
