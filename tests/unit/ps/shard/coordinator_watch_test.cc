// How a shard hears of the commits of rounds: from the coordinator, or from a request that it has
// asked to come again with the commit.
#include "ps/shard/coordinator_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/security/seal.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

// Shard 1 of two, which has partition 1 of a job of one lane. The coordinator is elsewhere.
class CoordinatorWatchTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kServed = 3;  // The timeline.

  CoordinatorWatchTest() {
    v1::JobSpec job;
    job.set_job("watching");
    job.set_partition_count(2);
    for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
      policy->set_kind(v1::POLICY_KIND_SYNC);
      policy->set_lanes(1);
    }
    auto shard = Shard::Create(job, {ShardIndex{1}, Incarnation{7}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kServed).ok());
    v1::View view;
    view.set_timeline(kServed);
    for (const uint32_t index : {0u, 1u}) {
      view.add_owners(index);
      v1::ShardInfo& info = *view.add_shards();
      info.set_index(index);
      info.set_incarnation(index == 0 ? 5 : 7);
    }
    commits_.emplace(*shard_, Watched::kCommits);
    CAPSTAN_CHECK(commits_->SetView(view));
  }

  void Serve() {
    auto content =
        InitialContent(shard_->catalog(), PartitionIndex{1}, Timeline{kServed}, shard_->slabs());
    CAPSTAN_CHECK(content.ok());
    shard_->contents().Load(PartitionIndex{1}, *std::move(content));
    CAPSTAN_CHECK(shard_->contents().Serve(kServed, {}).ok());
  }

  static v1::RoundCommit CommitOf(uint64_t round) {
    v1::RoundCommit closed;
    closed.set_round(round);
    v1::ClosedLane& lane = *closed.add_lanes();
    lane.mutable_generation()->set_term(1);
    lane.mutable_generation()->set_count(1);
    lane.set_examples(4);
    return closed;
  }
  // The coordinator says that the round before `open` has closed.
  static v1::WatchCountsReply Told(uint64_t open) {
    v1::WatchCountsReply told;
    told.set_round(open);
    *told.mutable_closed() = CommitOf(open - 1);
    return told;
  }
  absl::StatusOr<bool> Hear(const v1::WatchCountsReply& told) {
    return commits_->Hear(commits_->Request(), told);
  }

  // Pulls partition 1 for a round; with the commit of the round before if `carries`.
  absl::Status Pull(uint64_t round, bool carries = false) {
    v1::PullRequest pull;
    pull.mutable_header()->set_timeline(kServed);
    pull.set_round(round);
    if (carries) *pull.mutable_closed() = CommitOf(round - 1);
    pull.add_partitions()->set_partition(1);
    auto query = PullQuery::Read(EventLoop::Serialize(pull), shard_->catalog());
    CAPSTAN_CHECK(query.ok());
    absl::Status became = absl::UnknownError("there was no answer");
    shard_->Pull(*std::move(query), absl::InfiniteFuture(),
                 [&became](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
                   became = reply.status();
                 });
    return became;
  }
  // Stages nothing, as a lane does on each shard that its batch does not touch.
  absl::StatusOr<v1::PushReply> Push(uint64_t round, bool carries = false) {
    v1::PushRequest push;
    push.mutable_header()->set_timeline(kServed);
    push.mutable_stage()->set_round(round);
    push.mutable_stage()->mutable_generation()->set_term(1);
    push.mutable_stage()->mutable_generation()->set_count(1);
    if (carries) *push.mutable_stage()->mutable_closed() = CommitOf(round - 1);
    CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const PushMessage> message,
                             shard_->ReadPush(EventLoop::Serialize(push)));
    CAPSTAN_ASSIGN_OR_RETURN(const Shard::Pushed pushed, shard_->Push(message));
    return pushed.reply;
  }

  const FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
  std::optional<CoordinatorWatch> commits_;
};

TEST_F(CoordinatorWatchTest, WhatTheCoordinatorHasToldNoRequestHasToCarry) {
  Serve();
  EXPECT_TRUE(commits_->Request().commit());
  EXPECT_TRUE(Hear(Told(2)).value());
  EXPECT_EQ(commits_->Request().round(), 2u) << "it asks for the next one";
  EXPECT_TRUE(Pull(2).ok());
  const absl::StatusOr<v1::PushReply> pushed = Push(2);
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_TRUE(pushed->asks_for_commits());
}

TEST_F(CoordinatorWatchTest, AShardThatLacksTheCommitTakesInNothingOfTheNextRoundAndAsksForIt) {
  Serve();
  EXPECT_TRUE(Pull(1).ok()) << "there is no commit before the first round";
  const absl::Status refused = Pull(2);
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("the commit of round 1"));
  EXPECT_TRUE(absl::IsOutOfRange(Push(2).status())) << "else round 2 could close without it";
  EXPECT_TRUE(Push(2, /*carries=*/true).ok());
  EXPECT_TRUE(Push(2).ok());
  EXPECT_TRUE(Pull(2).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Pull(3)));
}

TEST_F(CoordinatorWatchTest, ACommitThatComesAgainOrLateChangesNothing) {
  Serve();
  ASSERT_TRUE(Pull(2, /*carries=*/true).ok());
  EXPECT_TRUE(Hear(Told(2)).value());
  EXPECT_TRUE(Hear(Told(3)).value());
  EXPECT_TRUE(Hear(Told(2)).value());
  EXPECT_TRUE(Pull(3).ok());
  EXPECT_TRUE(absl::IsAborted(Pull(2))) << "that round is over";
}

TEST_F(CoordinatorWatchTest, WhoAnswersInTheCoordinatorsPlaceIsNotBelieved) {
  Serve();
  shard_->seals().SetSealer(Sealer("the key"));
  EXPECT_TRUE(absl::IsUnavailable(Hear(Told(2)).status()));
  EXPECT_EQ(commits_->Request().round(), 0u) << "it is asked again";
  EXPECT_TRUE(absl::IsOutOfRange(Pull(2)));
  v1::WatchCountsReply told = Told(2);
  const absl::StatusOr<RoundCommit> closed = RoundCommitFromProto(told.closed());
  told.mutable_closed()->set_seal(shard_->seals().OfRound(kServed, closed.value()));
  EXPECT_TRUE(Hear(told).value());
  EXPECT_TRUE(Pull(2).ok());
}

TEST_F(CoordinatorWatchTest, WhatIsToldBeforeTheShardServesIsAskedForAgain) {
  EXPECT_FALSE(Hear(Told(2)).value());
  EXPECT_EQ(commits_->Request().round(), 0u);
  Serve();
  EXPECT_TRUE(Hear(Told(2)).value());
  EXPECT_TRUE(Pull(2).ok());
}

TEST_F(CoordinatorWatchTest, ACoordinatorOfAnEarlierReleaseTellsNoCommitAndIsAskedForTheNext) {
  Serve();
  v1::WatchCountsReply told = Told(2);
  told.clear_closed();
  EXPECT_TRUE(Hear(told).value());
  EXPECT_EQ(commits_->Request().round(), 2u);
  EXPECT_TRUE(absl::IsOutOfRange(Pull(2)));
}

TEST_F(CoordinatorWatchTest, WhoAsksForCountsIsToldNoCommits) {
  const CoordinatorWatch counts(*shard_);
  EXPECT_FALSE(counts.Request().commit());
  EXPECT_EQ(counts.Request().counted(), 0u);
}

}  // namespace
}  // namespace capstan::ps
