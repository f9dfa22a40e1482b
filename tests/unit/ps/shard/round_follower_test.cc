// Which rounds a shard has heard of, from whom, and whose gradients may have to wait.
#include "ps/shard/round_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/security/seal.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/rejection.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

using Teller = RoundFollower::Teller;

constexpr uint64_t kFollowed = 3;  // The timeline that is served.

// Both parts are synchronous, with two lanes.
v1::JobSpec JobOfTwoLanes(uint32_t backup_workers = 0) {
  v1::JobSpec job;
  job.set_job("following");
  job.set_partition_count(2);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(2);
    policy->set_backup_workers(backup_workers);
  }
  return job;
}

v1::JobSpec AsynchronousJob(uint32_t aggregate) {
  v1::JobSpec job;
  job.set_job("following");
  job.set_partition_count(2);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_sparse_update()->set_aggregate(aggregate);
  return job;
}

v1::RoundCommit ClosedOf(uint64_t round) {
  v1::RoundCommit closed;
  closed.set_round(round);
  for (uint32_t lane : {0, 1}) {
    v1::ClosedLane& in = *closed.add_lanes();
    in.set_lane(lane);
    in.mutable_generation()->set_term(1);
    in.mutable_generation()->set_count(1 + lane);
    in.set_examples(4);
  }
  return closed;
}

v1::PushRequest Staged(uint64_t round, uint32_t lane, uint64_t timeline = kFollowed) {
  v1::PushRequest push;
  push.mutable_header()->set_timeline(timeline);
  push.mutable_stage()->set_round(round);
  push.mutable_stage()->set_lane(lane);
  return push;
}

// A shard that serves its timeline, and has no partition yet.
struct Followed {
  explicit Followed(const v1::JobSpec& job)
      : parts(Catalog::Create(job).value(), {ShardIndex{1}, Incarnation{7}}, metrics, clock) {
    CAPSTAN_CHECK(parts.view.BeginLoad(kFollowed).ok());
    parts.rounds.Reset(Timeline{kFollowed}, 0);
    parts.counted.Reset(Timeline{kFollowed});
    CAPSTAN_CHECK(parts.view.Serve(kFollowed).ok());
  }
  void LoadPartition1() {
    auto content =
        InitialContent(parts.catalog, PartitionIndex{1}, Timeline{kFollowed}, parts.slabs);
    CAPSTAN_CHECK(content.ok());
    parts.partitions[PartitionIndex{1}].Load(*std::move(content));
  }
  uint64_t last() const { return parts.rounds.last_round(); }

  const FakeClock clock;
  metrics::Registry registry;
  ShardMetrics metrics{registry};
  ShardParts parts;
  RoundFollower follower{parts};
};

TEST(RoundFollowerTest, WhatTrainersAndWhoAnswersAsTheCoordinatorTellNeedsItsSeal) {
  Followed shard(JobOfTwoLanes());
  shard.parts.seals.SetSealer(Sealer("the key"));
  v1::RoundCommit closed = ClosedOf(1);
  for (const Teller teller : {Teller::kTrainer, Teller::kCoordinator}) {
    EXPECT_TRUE(absl::IsUnavailable(shard.follower.Learn(kFollowed, closed, teller)));
  }
  EXPECT_EQ(shard.last(), 0u);
  closed.set_seal(shard.parts.seals.OfRound(kFollowed, RoundCommitFromProto(closed).value()));
  EXPECT_EQ(shard.follower.Learn(kFollowed, closed, Teller::kTrainer), absl::OkStatus());
  EXPECT_EQ(shard.last(), 1u);
  EXPECT_EQ(shard.follower.Learn(kFollowed, ClosedOf(2), Teller::kChief), absl::OkStatus());
  EXPECT_EQ(shard.follower.Learn(kFollowed, ClosedOf(3), Teller::kShard), absl::OkStatus());
  EXPECT_EQ(shard.last(), 3u);
}

TEST(RoundFollowerTest, ASealIsOfOneTimelineOneRoundAndItsLanes) {
  Followed shard(JobOfTwoLanes());
  shard.parts.seals.SetSealer(Sealer("the key"));
  v1::RoundCommit closed = ClosedOf(1);
  closed.set_seal(shard.parts.seals.OfRound(kFollowed + 1, RoundCommitFromProto(closed).value()));
  EXPECT_TRUE(absl::IsUnavailable(shard.follower.Learn(kFollowed, closed, Teller::kTrainer)));
  closed.set_seal(shard.parts.seals.OfRound(kFollowed, RoundCommitFromProto(closed).value()));
  closed.mutable_lanes()->RemoveLast();
  EXPECT_TRUE(absl::IsUnavailable(shard.follower.Learn(kFollowed, closed, Teller::kTrainer)));
  EXPECT_EQ(shard.last(), 0u);
}

TEST(RoundFollowerTest, OfAnotherTimelineOrMalformedNothingIsLearned) {
  Followed shard(JobOfTwoLanes());
  for (const uint64_t timeline : {kFollowed - 1, kFollowed + 1}) {
    EXPECT_EQ(shard.follower.Learn(timeline, ClosedOf(1), Teller::kChief), absl::OkStatus());
    EXPECT_FALSE(shard.follower.Hear(timeline, ClosedOf(1)).value());
  }
  v1::RoundCommit malformed = ClosedOf(1);
  malformed.mutable_lanes(1)->set_lane(0);
  EXPECT_TRUE(absl::IsInvalidArgument(shard.follower.Learn(kFollowed, malformed, Teller::kChief)));
  EXPECT_TRUE(absl::IsInvalidArgument(shard.follower.Hear(kFollowed, malformed).status()));
  EXPECT_EQ(shard.last(), 0u);
  EXPECT_TRUE(shard.follower.Hear(kFollowed, ClosedOf(1)).value());
  EXPECT_EQ(shard.last(), 1u);
}

TEST(RoundFollowerTest, ARequestIsTakenInOnlyWithTheCommitOfTheRoundBefore) {
  Followed shard(JobOfTwoLanes());
  shard.LoadPartition1();
  EXPECT_EQ(shard.follower.LearnFrom(Staged(1, 0)), absl::OkStatus());
  const absl::Status refused = shard.follower.LearnFrom(Staged(2, 0));
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_EQ(ReasonOf(refused), Rejection::kWrongRound);
  v1::PushRequest carries = Staged(2, 0);
  *carries.mutable_stage()->mutable_closed() = ClosedOf(1);
  EXPECT_EQ(shard.follower.LearnFrom(carries), absl::OkStatus());
  EXPECT_EQ(shard.follower.LearnFrom(Staged(2, 1)), absl::OkStatus());
  v1::PullRequest pull;
  pull.mutable_header()->set_timeline(kFollowed);
  pull.set_round(3);
  EXPECT_TRUE(absl::IsOutOfRange(shard.follower.LearnFrom(pull)));
  pull.set_evaluation(true);
  EXPECT_EQ(shard.follower.LearnFrom(pull), absl::OkStatus()) << "it is of no round";
  EXPECT_EQ(shard.follower.LearnFrom(v1::PushRequest()), absl::OkStatus());
}

TEST(RoundFollowerTest, RoundsAreForgottenOnceEachPartitionHasPassedThem) {
  Followed shard(JobOfTwoLanes());
  shard.LoadPartition1();
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(shard.follower.Hear(kFollowed, ClosedOf(round)).value());
  }
  EXPECT_TRUE(shard.parts.rounds.KeepsAny()) << "no request has come to the partition";
  shard.follower.Sweep();
  EXPECT_FALSE(shard.parts.rounds.KeepsAny());
}

TEST(RoundFollowerTest, WhatAPartitionOnItsWayWillHaveToPassIsKeptUntilItIsGivenUp) {
  Followed shard(JobOfTwoLanes());
  const RoundCommit passed = RoundCommitFromProto(ClosedOf(5)).value();
  ASSERT_EQ(shard.follower.Expect(Timeline{kFollowed}, passed), absl::OkStatus());
  EXPECT_EQ(shard.last(), 5u);
  EXPECT_EQ(shard.follower.Passed(5), passed) << "it goes along if the partition moves on";
  ASSERT_TRUE(shard.follower.Hear(kFollowed, ClosedOf(6)).value());
  shard.follower.Sweep();
  EXPECT_EQ(shard.parts.rounds.After(5).size(), 1u);
  shard.follower.GiveUp(Timeline{kFollowed + 1}, passed);
  shard.follower.Sweep();
  EXPECT_EQ(shard.parts.rounds.After(5).size(), 1u) << "that was another timeline";
  shard.follower.GiveUp(Timeline{kFollowed}, passed);
  shard.follower.Sweep();
  EXPECT_FALSE(shard.parts.rounds.KeepsAny());
}

TEST(RoundFollowerTest, APartitionThatIsAheadOfTheOthersHereIsAwaitedNotExpected) {
  Followed shard(JobOfTwoLanes());
  shard.LoadPartition1();
  const RoundCommit ahead = RoundCommitFromProto(ClosedOf(5)).value();
  EXPECT_TRUE(absl::IsUnavailable(shard.follower.Expect(Timeline{kFollowed}, ahead)));
  EXPECT_TRUE(absl::IsAborted(shard.follower.Expect(Timeline{kFollowed + 1}, ahead)));
  Followed asynchronous(AsynchronousJob(/*aggregate=*/1));
  EXPECT_EQ(asynchronous.follower.Expect(Timeline{kFollowed + 1}, {}), absl::OkStatus());
}

TEST(RoundFollowerTest, TheGradientWhoseTurnItIsWaitsForNobody) {
  Followed shard(JobOfTwoLanes());
  EXPECT_TRUE(shard.follower.AddsCounted());
  EXPECT_FALSE(shard.follower.MayWait(Staged(1, 0)));
  EXPECT_TRUE(shard.follower.MayWait(Staged(1, 1)));
  EXPECT_TRUE(shard.follower.MayWait(Staged(1, 0, kFollowed + 1))) << "nothing is known of it";
  const LaneNews counted = {
      .round = 1, .counted = {{.lane = LaneIndex{0}, .generation = {1, 1}}}, .ended = {}};
  EXPECT_FALSE(shard.follower.LearnCounts(kFollowed + 1, counted));
  EXPECT_TRUE(shard.follower.MayWait(Staged(1, 1)));
  EXPECT_TRUE(shard.follower.LearnCounts(kFollowed, counted));
  EXPECT_FALSE(shard.follower.MayWait(Staged(1, 1)));
  EXPECT_TRUE(shard.follower.LearnCounts(kFollowed, {.round = 2, .counted = {}, .ended = {}}));
  EXPECT_FALSE(shard.follower.MayWait(Staged(1, 1))) << "its round is over, which it is told";
  EXPECT_TRUE(shard.follower.MayWait(Staged(2, 1)));
}

TEST(RoundFollowerTest, WithBackupWorkersEachGradientWaitsForTheEndOfItsRound) {
  Followed shard(JobOfTwoLanes(/*backup_workers=*/1));
  EXPECT_FALSE(shard.follower.AddsCounted());
  EXPECT_TRUE(shard.follower.MayWait(Staged(1, 0)));
}

TEST(RoundFollowerTest, APushOfNoRoundWaitsInAQueueIfThereIsOne) {
  EXPECT_FALSE(Followed(AsynchronousJob(/*aggregate=*/1)).follower.MayWait(v1::PushRequest()));
  EXPECT_TRUE(Followed(AsynchronousJob(/*aggregate=*/4)).follower.MayWait(v1::PushRequest()));
}

}  // namespace
}  // namespace capstan::ps
