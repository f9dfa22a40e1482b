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
  before.RegisterShards();
  before.RegisterWorker("w");
  before.Heartbeat("w");
  before.draining = {1};
  before.Advance(absl::Seconds(2));
  before.TakeCheckpoint();
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
