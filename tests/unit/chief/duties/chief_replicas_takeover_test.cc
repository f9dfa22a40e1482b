// The chief's machine: a chief that comes after another, and finds pairs and leases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"
#include "tests/unit/chief/duties/replicas_job.h"

namespace capstan::chief {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

TEST_F(ChiefReplicasTest, TheNextChiefKeepsThePairsAndTouchesNothing) {
  Crew next = Crew::Successor(options_, crew_);
  next.ShardsHeartbeat();
  next.Advance(absl::Seconds(15));
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
  ASSERT_THAT(next.machine.view().pairs(), SizeIs(8));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(next.machine.view().pairs(i).id().n(), view().pairs(i).id().n());
  }
  EXPECT_THAT(next.move_orders, IsEmpty());
}

TEST_F(ChiefReplicasTest, TheNextChiefWaitsForLeasesOfTheOneBefore) {
  crew_.Stop(1);
  Crew next = Crew::Successor(options_, crew_);
  next.Advance(absl::Seconds(20));
  EXPECT_EQ(OwnedBy(next.machine.view(), 1), 3);
  next.Advance(absl::Seconds(1));
  EXPECT_EQ(OwnedBy(next.machine.view(), 1), 0);
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(next.Status().waiting_for(), "");
  EXPECT_THAT(next.loads, IsEmpty());
}

TEST_F(ChiefReplicasTest, SoItDoesWhereTheJobHadFailedAndGoesOnInALaterTimeline) {
  crew_.states.back().set_state(v1::JOB_STATE_FAILED);
  Crew next = Crew::Successor(options_, crew_);
  next.RegisterShards();
  next.Advance(absl::Seconds(5));
  ASSERT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  ASSERT_GT(next.machine.view().timeline(), timeline_);
  ASSERT_THAT(next.machine.view().pairs(), SizeIs(8));
  next.Stop(1);
  next.Advance(absl::Seconds(15));
  EXPECT_EQ(OwnedBy(next.machine.view(), 1), 3);
  next.Advance(absl::Seconds(1));
  EXPECT_EQ(OwnedBy(next.machine.view(), 1), 0);
}

TEST_F(ChiefReplicasTest, WhoServesTheTimelineBeforeHasNoLeaseOfAChiefThatHasBegunALaterOne) {
  crew_.states.back().set_state(v1::JOB_STATE_FAILED);
  Crew next = Crew::Successor(options_, crew_);
  next.RegisterShards();
  next.Advance(absl::Seconds(5));
  ASSERT_GT(next.machine.view().timeline(), timeline_);
  EXPECT_EQ(next.ShardHeartbeat(1).lease_seconds(), 10);
  next.shards[1].loaded_timeline = timeline_;
  EXPECT_EQ(next.ShardHeartbeat(1).lease_seconds(), 0);
  EXPECT_TRUE(next.ShardHeartbeat(1).known());
}

TEST_F(ChiefReplicasTest, ItDoesNotWaitForAProcessThatHasEnded) {
  const uint64_t incarnation = crew_.shards.at(1).incarnation;
  crew_.Stop(1);
  Crew next = Crew::Successor(options_, crew_);
  next.ShardsHeartbeat();
  next.machine.OnShardGone(1, incarnation, next.now);
  next.AnswerCalls();
  EXPECT_EQ(OwnedBy(next.machine.view(), 1), 0);
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
}

TEST_F(ChiefReplicasTest,
       AShardThatWasStartedAnewBetweenTwoChiefsIsReplacedWhenItsBackupsAreThere) {
  Crew next = Crew::Successor(options_, crew_);
  ASSERT_TRUE(next.RegisterShard(1, 77).ok());
  EXPECT_EQ(next.machine.view().timeline(), timeline_) << "its backups are heard of in a moment";
  next.ShardsHeartbeat();
  next.AnswerCalls();
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  next.Advance(absl::Seconds(20));
  EXPECT_EQ(next.machine.view().timeline(), timeline_);
  EXPECT_GE(OwnedBy(next.machine.view(), 1), 2);
  EXPECT_THAT(next.machine.view().pairs(), SizeIs(8));
}

TEST_F(ChiefReplicasTest, WhereAllWereStartedAnewTheyReturnToACheckpoint) {
  crew_.TakeCheckpoint();
  Crew next = Crew::Successor(options_, crew_);
  for (uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(next.RegisterShard(index, 70 + index).ok());
  }
  next.Advance(absl::Seconds(2));
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_GT(next.machine.view().timeline(), timeline_);
}

TEST_F(ChiefReplicasTest, AChiefThatCannotFindOutWhetherItsTermIsOverGrantsNoMoreThanIsLeft) {
  crew_.TakeCheckpoint();
  crew_.Advance(absl::Seconds(1));
  crew_.state_status = absl::UnavailableError("the store is away");
  crew_.Advance(absl::Seconds(6));
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 10) << "no more than it is away now and then";
  crew_.Advance(absl::Seconds(9));
  EXPECT_THAT(crew_.ShardHeartbeat(0).lease_seconds(), AllOf(Gt(0), Le(5)));
  crew_.Advance(absl::Seconds(5));
  EXPECT_FALSE(crew_.machine.superseded());
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 0);
  EXPECT_TRUE(crew_.ShardHeartbeat(0).known());
  crew_.state_status = absl::OkStatus();
  crew_.Advance(absl::Seconds(6));
  EXPECT_GT(crew_.ShardHeartbeat(0).lease_seconds(), 5);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AChiefThatWakesUpGrantsNothingBeforeItHasWritten) {
  crew_.hold_states = true;
  crew_.now += absl::Minutes(1);
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 0);
  EXPECT_EQ(crew_.ShardHeartbeat(1).lease_seconds(), 0);
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::AbortedError("another chief"), crew_.now);
  EXPECT_TRUE(crew_.machine.superseded());
}

TEST_F(ChiefReplicasTest, AChiefWithNothingToWriteWritesForTheSakeOfLeases) {
  crew_.Advance(absl::Seconds(10));
  const size_t before = crew_.states.size();
  for (int i = 0; i < 40; ++i) {
    crew_.Advance(absl::Milliseconds(500));
    EXPECT_GT(crew_.ShardHeartbeat(0).lease_seconds(), 6);
  }
  EXPECT_THAT(crew_.states.size() - before, AllOf(Ge(7u), Le(21u)));
}

// For 20 s. Readers pull from the shards of a job that has ended, too.
void ExpectLeasesWithoutWrites(Crew& crew) {
  crew.Advance(absl::Minutes(1));
  const size_t before = crew.states.size();
  for (int i = 0; i < 40; ++i) {
    crew.Advance(absl::Milliseconds(500));
    EXPECT_EQ(crew.ShardHeartbeat(0).lease_seconds(), 10);
  }
  EXPECT_EQ(crew.states.size(), before);
}

TEST_F(ChiefReplicasTest, OnceTheEndIsStoredLeasesNeedNoWrites) {
  crew_.WorkToTheEnd({"w"});
  ExpectLeasesWithoutWrites(crew_);
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  Crew next = Crew::Successor(options_, crew_);
  ExpectLeasesWithoutWrites(next);
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ChiefReplicasTest, NorDoTheyOnceItIsStoredThatTheJobHasFailed) {
  crew_.save_status = absl::AbortedError("disk is full");
  crew_.WorkToTheEnd({"w"});
  crew_.Advance(absl::Minutes(11));
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_FAILED);
  ExpectLeasesWithoutWrites(crew_);
}

TEST_F(ChiefReplicasTest, BeforeTheEndIsStoredLeasesEndWithTheTerm) {
  crew_.hold_manifests = true;
  crew_.WorkToTheEnd({"w"});
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_CHECKPOINTING);
  crew_.hold_states = true;
  crew_.machine.OnManifestWritten(crew_.manifests.back().uri, absl::OkStatus(), crew_.now);
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  crew_.Advance(absl::Seconds(21));
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 0) << "another chief may have claimed the job";
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 10);
}

// A later chief, which has opened the job for more epochs, may have that shard's backups take over.
TEST_F(ChiefReplicasTest, OfAChiefWhoseJobHasEndedNobodyElseHasALeaseWithoutAWrite) {
  crew_.WorkToTheEnd({"w"});
  crew_.Advance(absl::Seconds(10));
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  crew_.hold_states = true;
  crew_.now += absl::Seconds(21);
  ++crew_.shards[0].loaded_timeline;
  crew_.shards[2].loaded_timeline = 0;  // It loads one, or is of a release that does not say.
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 0);
  EXPECT_EQ(crew_.ShardHeartbeat(1).lease_seconds(), 10);
  EXPECT_EQ(crew_.ShardHeartbeat(2).lease_seconds(), 0);
}

TEST_F(ChiefReplicasTest, AChiefWhoseTermIsOverGrantsNothing) {
  EXPECT_GT(crew_.ShardHeartbeat(0).lease_seconds(), 6);
  crew_.state_status = absl::AbortedError("another chief");
  crew_.TakeCheckpoint();
  crew_.Advance(absl::Seconds(2));
  ASSERT_TRUE(crew_.machine.superseded());
  EXPECT_EQ(crew_.ShardHeartbeat(0).lease_seconds(), 0);
}

}  // namespace
}  // namespace capstan::chief
