// A chief that takes over from another one: which shards the job goes on with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// The job begins on two shards, and goes on on one of them.
void MakeSmaller(Crew& crew) {
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  crew.draining = {1};
  crew.Advance(absl::Seconds(2));
  crew.TakeCheckpoint();
}

TEST(ChiefTakeoverShardsTest, MoreShardsJoinWhileTheJobRunsAndNothingIsLost) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 1)});
  before.Advance(absl::Seconds(2));
  CrewOptions larger = TenTasks();
  larger.shards = 3;
  Crew crew = Crew::Successor(larger, before);
  crew.ShardsHeartbeat();
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << "on the shards that there are";
  EXPECT_THAT(crew.manifests, IsEmpty());
  EXPECT_THAT(crew.machine.view().shards(), SizeIs(2));

  ASSERT_TRUE(crew.RegisterShard(2).ok());
  EXPECT_THAT(crew.machine.view().shards(), SizeIs(3));
  EXPECT_THAT(crew.machine.view().owners(), Not(Contains(2u)));
  crew.Advance(absl::Seconds(5));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Contains(2u));
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline());
  EXPECT_THAT(crew.saves, IsEmpty());
  EXPECT_THAT(crew.Status().losses(), IsEmpty());
}

TEST(ChiefTakeoverShardsTest, MoreShardsThatWereAllStartedAnewAreUsedAtOnce) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.TakeCheckpoint();
  CrewOptions larger = TenTasks();
  larger.shards = 3;
  Crew crew = Crew::Successor(larger, before);
  for (uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(crew.RegisterShard(index, 70 + index).ok());
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Contains(2u));
  EXPECT_THAT(crew.manifests, SizeIs(1)) << "that of before";
  EXPECT_EQ(crew.loads.back().uri(), crew.manifests[0].uri);
}

TEST(ChiefTakeoverShardsTest, AShardThatHasShownItsNumberIsNotBelievedWithoutItByAnyLaterChief) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.machine.NoteNumbered(1);
  before.Advance(absl::Seconds(2));
  Crew next = Crew::Successor(TenTasks(), before);
  EXPECT_FALSE(next.machine.MayBeUnnumbered(1));
  EXPECT_TRUE(next.machine.MayBeUnnumbered(0));
  next.RegisterShards();
  next.Advance(absl::Seconds(2));
  EXPECT_FALSE(Crew::Successor(TenTasks(), next).machine.MayBeUnnumbered(1));
}

TEST(ChiefTakeoverShardsTest, AllStartedAnewReturnsToTheCheckpoint) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 0)});
  before.TakeCheckpoint();
  before.Heartbeat("w", {Crew::Done(held.leases(1))});
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  ASSERT_TRUE(crew.RegisterShard(0, 91).ok());
  ASSERT_TRUE(crew.RegisterShard(1, 92).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.loads.back().uri(), before.manifests[0].uri);
  EXPECT_EQ(crew.Status().examples(), 20u);
  EXPECT_EQ(crew.machine.view().timeline(), 2u);
  crew.RegisterWorker("w");
  crew.WorkToTheEnd({"w"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().examples(), 200u);
}

TEST(ChiefTakeoverShardsTest,
     FewerShardsThatWereAllStartedAnewAreUsedWhenTheOthersHaveHadTheirTime) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Heartbeat("w", {Crew::Done(held.leases(0))});
  before.TakeCheckpoint();
  CrewOptions smaller = TenTasks();
  smaller.shards = 1;
  Crew crew = Crew::Successor(smaller, before);
  crew.Stop(1);
  ASSERT_TRUE(crew.RegisterShard(0, 70).ok());
  crew.Advance(absl::Seconds(9));
  EXPECT_THAT(crew.loads, IsEmpty());
  crew.Advance(absl::Seconds(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
  EXPECT_EQ(crew.Status().examples(), 20u);
}

TEST(ChiefTakeoverShardsTest,
     AShardThatIsNotWishedAndDoesNotComeBackIsNotWaitedForLongerThanALease) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.TakeCheckpoint();
  CrewOptions smaller = TenTasks();
  smaller.shards = 1;
  Crew crew = Crew::Successor(smaller, before);
  crew.Stop(1);
  crew.Advance(absl::Seconds(9));
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline());
  EXPECT_THAT(crew.Status().waiting_for(), testing::HasSubstr("shard 1"));
  crew.Advance(absl::Seconds(3));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline() + 1);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
}

TEST(ChiefTakeoverShardsTest, AShardThatWasLeavingWhenTheChiefWasReplacedIsNotWaitedForForEver) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.TakeCheckpoint();
  before.hold_calls = true;  // It has nothing handed over yet.
  before.draining = {1};
  before.Advance(absl::Seconds(1));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.Stop(1);
  crew.Advance(absl::Seconds(29));
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline());
  crew.Advance(absl::Seconds(5));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline() + 1);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
}

TEST(ChiefTakeoverShardsTest, AJobThatWasMadeSmallerWhileItRanGoesOnOnTheShardsThatItHad) {
  Crew before(TenTasks());
  MakeSmaller(before);
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.Stop(1);
  ASSERT_TRUE(crew.RegisterShard(0, 70).ok()) << "all of it was started again";
  crew.Advance(absl::Seconds(12));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
  EXPECT_EQ(crew.Status().waiting_for(), "");
}

TEST(ChiefTakeoverShardsTest, AJobThatWasMadeLargerWhileItRanIsLoadedByTheShardsThatItHad) {
  Crew before(TenTasks());
  before.RegisterShards();
  ASSERT_TRUE(before.RegisterShard(2).ok());
  before.Advance(absl::Seconds(5));
  before.TakeCheckpoint();
  ASSERT_THAT(before.machine.view().owners(), Contains(2u));
  Crew crew = Crew::Successor(TenTasks(), before);
  for (uint32_t index : {0u, 1u}) ASSERT_TRUE(crew.RegisterShard(index, 70 + index).ok());
  EXPECT_THAT(crew.loads, IsEmpty()) << "two may not have room for what three had";
  ASSERT_TRUE(crew.RegisterShard(2, 72).ok());
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.loads, SizeIs(3));
  EXPECT_THAT(crew.machine.view().owners(), Contains(2u));
}

TEST(ChiefTakeoverShardsTest,
     AJobThatWasMadeSmallerAndIsOnItsWayBackGetsThereOnTheShardsThatItHad) {
  Crew before(TenTasks());
  MakeSmaller(before);
  before.Stop(1);
  before.hold_calls = true;
  ASSERT_TRUE(before.RegisterShard(0, 70).ok());
  ASSERT_EQ(before.states.back().state(), v1::JOB_STATE_RESTORING);
  ASSERT_THAT(before.machine.view().owners(), Each(0u));
  Crew crew = Crew::Successor(TenTasks(), before);
  ASSERT_TRUE(crew.RegisterShard(0).ok());
  crew.Advance(absl::Seconds(9));
  EXPECT_THAT(crew.loads, IsEmpty()) << "the other, which is wished, may yet come";
  EXPECT_EQ(crew.Status().waiting_for(), "shard 1");
  crew.Advance(absl::Seconds(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
  EXPECT_EQ(crew.Status().waiting_for(), "");
}

// A job of two shards that a third has joined, and that is on its way back to its checkpoint.
Crew LargerOnItsWayBack() {
  Crew crew(TenTasks());
  crew.RegisterShards();
  EXPECT_TRUE(crew.RegisterShard(2).ok());
  crew.Advance(absl::Seconds(5));
  crew.TakeCheckpoint();
  crew.hold_calls = true;
  EXPECT_TRUE(crew.RegisterShard(1, 71).ok());
  EXPECT_EQ(crew.states.back().state(), v1::JOB_STATE_RESTORING);
  EXPECT_THAT(crew.machine.view().owners(), Contains(2u));
  return crew;
}

TEST(ChiefTakeoverShardsTest, AJobThatWasMadeLargerAndIsOnItsWayBackIsLoadedByTheShardsThatItHad) {
  const Crew before = LargerOnItsWayBack();
  Crew crew = Crew::Successor(TenTasks(), before);
  for (uint32_t index : {0u, 1u}) ASSERT_TRUE(crew.RegisterShard(index, 80 + index).ok());
  crew.Advance(absl::Seconds(9));
  EXPECT_THAT(crew.loads, IsEmpty()) << "two may not have room for what three had";
  EXPECT_EQ(crew.Status().waiting_for(), "shard 2");
  ASSERT_TRUE(crew.RegisterShard(2, 82).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.loads, SizeIs(3));
  EXPECT_THAT(crew.machine.view().owners(), Contains(2u));
}

TEST(ChiefTakeoverShardsTest, EveryChiefOnTheWayBackKnowsTheShardsThatTheJobHad) {
  const Crew first = LargerOnItsWayBack();
  Crew second = Crew::Successor(TenTasks(), first);
  second.Advance(absl::Seconds(2));
  ASSERT_THAT(second.states, Not(IsEmpty())) << "what is stored has no map any more";
  EXPECT_THAT(second.states.back().view().owners(), IsEmpty());
  Crew third = Crew::Successor(TenTasks(), second);
  for (uint32_t index : {0u, 1u}) ASSERT_TRUE(third.RegisterShard(index, 80 + index).ok());
  EXPECT_THAT(third.loads, IsEmpty());
  ASSERT_TRUE(third.RegisterShard(2, 82).ok());
  EXPECT_THAT(third.machine.view().owners(), Contains(2u));
}

TEST(ChiefTakeoverShardsTest, OneThatIsNotWishedAndDoesNotComeIsNotWaitedForOnTheWayBackEither) {
  const Crew before = LargerOnItsWayBack();
  Crew crew = Crew::Successor(TenTasks(), before);
  ASSERT_TRUE(crew.RegisterShard(0, 80).ok());
  crew.Stop(2);
  crew.Advance(absl::Seconds(20));
  ASSERT_TRUE(crew.RegisterShard(1, 81).ok());
  crew.Advance(absl::Seconds(9));
  EXPECT_THAT(crew.loads, IsEmpty()) << "those that are wished have not been there for a lease";
  crew.Advance(absl::Seconds(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(ChiefTakeoverShardsTest, AShardThatLeftAndWasGivenUpIsNotWaitedForByTheNextChief) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.TakeCheckpoint();
  ASSERT_THAT(before.manifests, SizeIs(1));
  before.damaged[before.manifests[0].uri] = absl::UnavailableError("the store is away");
  before.hold_calls = true;  // It has nothing handed over yet.
  before.draining = {1};
  before.Advance(absl::Seconds(1));
  before.Stop(1);
  before.Advance(absl::Seconds(35));
  ASSERT_EQ(before.states.back().state(), v1::JOB_STATE_RESTORING);
  ASSERT_THAT(before.states.back().view().owners(), IsEmpty());
  Crew crew = Crew::Successor(TenTasks(), before);
  ASSERT_TRUE(crew.RegisterShard(0).ok());
  crew.Advance(absl::Seconds(11));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), Each(0u));
}

TEST(ChiefTakeoverShardsTest, MoreShardsThanThisChiefWasToldOfStayAtWork) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.Advance(absl::Seconds(1));
  CrewOptions smaller = TenTasks();
  smaller.shards = 1;
  Crew crew = Crew::Successor(smaller, before);
  crew.Advance(absl::Seconds(20));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline());
  EXPECT_THAT(crew.machine.view().owners(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

}  // namespace
}  // namespace capstan::chief
