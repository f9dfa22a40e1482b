// The chief's machine: the next chief.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// The leases of worker "w", which has both lanes of the job; the chief has stored it.
v1::WorkerHeartbeatReply BothLanesOf(Crew& crew) {
  crew.RegisterShards();
  crew.RegisterWorker("w");
  v1::WorkerHeartbeatReply held = crew.Heartbeat("w");
  EXPECT_THAT(held.leases(), SizeIs(2));
  crew.Advance(absl::Seconds(2));
  return held;
}

TEST(ChiefTakeoverTest, GoesOnWithoutTouchingTheShards) {
  CrewOptions job = TenTasks();
  job.ssp = true;  // The view names those who train.
  Crew before(job);
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Heartbeat("w", {Crew::Partly(held.leases(0), 1), Crew::Partly(held.leases(1), 0)});
  before.Advance(absl::Seconds(2));

  Crew crew = Crew::Successor(job, before);
  crew.ShardsHeartbeat();
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), before.machine.view().timeline());
  EXPECT_EQ(crew.machine.view().epoch().term(), 2u);
  EXPECT_THAT(crew.machine.view().trainers(), SizeIs(1)) << "it is at work, though not heard of";
  EXPECT_THAT(crew.loads, IsEmpty());

  v1::WorkerHeartbeatRequest unknown;
  unknown.set_name("w");
  unknown.set_incarnation(101);
  EXPECT_FALSE(crew.machine.WorkerHeartbeat(unknown, crew.now).known());
  crew.RegisterWorker("w", 101, {held.leases(0).trainer()});
  const v1::WorkerHeartbeatReply reply =
      crew.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 1)});
  EXPECT_THAT(reply.revoked(), SizeIs(1)) << "the one that is done";
  EXPECT_EQ(crew.Status().examples(), 30u);
  EXPECT_EQ(crew.Status().tasks().done(), 1u);
  EXPECT_EQ(crew.machine.view().trainers(0).trainer(), held.leases(0).trainer());
  EXPECT_THAT(crew.Heartbeat("w", {Crew::Partly(held.leases(1), 2)}).revoked(), IsEmpty());
}

TEST(ChiefTakeoverTest, GivesWhatWasBegunOnlyWhenItsHoldersHaveBeenHeardOf) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("a");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("a");
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("b");
  const v1::WorkerHeartbeatReply early = crew.Heartbeat("b");
  ASSERT_THAT(early.leases(), SizeIs(2));
  for (const v1::Lease& lease : early.leases()) {
    EXPECT_GE(lease.task().index(), 2u) << "0 and 1 are held by a";
  }
  crew.Advance(absl::Seconds(11));
  crew.RegisterWorker("c");
  EXPECT_THAT(crew.Heartbeat("c").leases(0).task().index(), 0u);
  // Who comes too late has lost it.
  crew.RegisterWorker("a", 500, {held.leases(0).trainer()});
  EXPECT_THAT(crew.Heartbeat("a", {Crew::Partly(held.leases(0), 1)}).revoked(), SizeIs(1));
}

TEST(ChiefTakeoverTest, ALeaseOlderThanTheLastOfItsTaskIsNotAdopted) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("a");
  const v1::Lease old = before.Heartbeat("a").leases(0);
  before.Advance(absl::Seconds(11));
  before.RegisterWorker("b");
  EXPECT_EQ(before.Heartbeat("b").leases(0).task().index(), old.task().index());
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("a", 500, {old.trainer()});
  EXPECT_THAT(crew.Heartbeat("a", {Crew::Partly(old, 1)}).revoked(), SizeIs(1));
}

TEST(ChiefTakeoverTest, AChiefThatEndsBeforeItsShardsAreThereLeavesTheJobBegun) {
  Crew first(TenTasks());
  first.RegisterShards();
  first.hold_calls = true;
  ASSERT_TRUE(first.RegisterShard(0, 999).ok());
  ASSERT_EQ(first.states.back().view().timeline(), 2u);
  Crew second = Crew::Successor(TenTasks(), first);
  second.Advance(absl::Seconds(2));
  ASSERT_FALSE(second.states.empty());
  EXPECT_EQ(second.states.back().state(), v1::JOB_STATE_RESTORING);
  Crew third = Crew::Successor(TenTasks(), second);
  third.RegisterShards();
  EXPECT_EQ(third.machine.view().timeline(), 3u) << "timeline 2 has been heard of";
}

TEST(ChiefTakeoverTest,
     AJobThatWasStoppedBeforeAShardWasLostEndsUnderTheNextChiefOnceItIsRestored) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  before.Heartbeat("w");
  before.TakeCheckpoint();
  before.machine.StopJob("enough", before.now);
  before.hold_calls = true;
  ASSERT_TRUE(before.RegisterShard(0, 999).ok());
  ASSERT_EQ(before.machine.state(), v1::JOB_STATE_RESTORING);
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.RegisterShards();
  crew.Advance(absl::Seconds(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().reason(), "stopped: enough");
  EXPECT_EQ(crew.Status().model_uri(), crew.manifests.back().uri);
}

TEST(ChiefTakeoverTest, AJobThatIsStoppedWhileItWaitsForItsShardsAgainEndsWithItsModel) {
  Crew first(TenTasks());
  first.RegisterShards();
  first.TakeCheckpoint();
  first.hold_calls = true;
  ASSERT_TRUE(first.RegisterShard(0, 999).ok());
  ASSERT_EQ(first.states.back().state(), v1::JOB_STATE_RESTORING);
  Crew second = Crew::Successor(TenTasks(), first);
  second.machine.StopJob("enough", second.now);
  second.Advance(absl::Seconds(2));
  EXPECT_EQ(second.machine.state(), v1::JOB_STATE_PENDING);
  Crew third = Crew::Successor(TenTasks(), second);
  third.RegisterShards();
  third.Advance(absl::Seconds(2));
  EXPECT_EQ(third.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(third.Status().reason(), "stopped: enough");
  EXPECT_EQ(third.Status().model_uri(), third.manifests.back().uri);
}

TEST(ChiefTakeoverTest, LanesStayWithTheirHolders) {
  Crew before(TenTasks(/*lanes=*/2));
  const v1::WorkerHeartbeatReply held = BothLanesOf(before);
  Crew crew = Crew::Successor(TenTasks(/*lanes=*/2), before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("other");
  EXPECT_THAT(crew.Heartbeat("other").leases(), IsEmpty());
  crew.Heartbeat("other", {}, /*wants=*/false, /*draining=*/true);
  crew.RegisterWorker("w", 101, {held.leases(0).trainer()});
  const v1::WorkerHeartbeatReply reply =
      crew.Heartbeat("w", {Crew::Partly(held.leases(0), 1), Crew::Partly(held.leases(1), 1)});
  EXPECT_THAT(reply.revoked(), IsEmpty());
  EXPECT_EQ(crew.Status().tasks().doing(), 2u);
}

TEST(ChiefTakeoverTest, AtTheEndOfTheJobLeasesOfTheChiefBeforeAreTakenBackToo) {
  CrewOptions two_steps = TenTasks(/*lanes=*/2);
  two_steps.max_steps = 2;
  Crew before(two_steps);
  const v1::WorkerHeartbeatReply held = BothLanesOf(before);
  Crew crew = Crew::Successor(two_steps, before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("w", 101, {held.leases(0).trainer()});
  const std::vector<v1::LeaseReport> reports = crew.CloseRounds(held, 2);
  crew.Heartbeat("w", reports);
  EXPECT_THAT(crew.Heartbeat("w", reports).revoked(), SizeIs(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << "it has not let go of them yet";
  crew.Heartbeat("w");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().examples(), 40u);
}

TEST(ChiefTakeoverTest, AJobThatIsStoppedWaitsForThoseWhomTheChiefBeforeLeftAtWork) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.machine.StopJob("enough", crew.now);
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.answered["Flush"], 0) << "w may still push";
  crew.RegisterWorker("w", 101, {held.leases(0).trainer()});
  const std::vector<v1::LeaseReport> reports = {Crew::Partly(held.leases(0), 1),
                                                Crew::Partly(held.leases(1), 0)};
  EXPECT_THAT(crew.Heartbeat("w", reports).revoked(), SizeIs(2));
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.answered["Flush"], 0) << "w has not let go of its leases yet";
  crew.Heartbeat("w");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefTakeoverTest, AJobThatIsStoppedWaitsNoLongerThanALeaseForThoseWhoNeverCome) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  before.Heartbeat("w");
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.machine.StopJob("enough", crew.now);
  crew.Advance(absl::Seconds(11));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST(ChiefTakeoverTest, TasksOfALaneThatOnlyADeadChiefKnewOfAreReadAgain) {
  Crew before(TenTasks(/*lanes=*/2));
  const v1::WorkerHeartbeatReply held = BothLanesOf(before);
  Crew crew = Crew::Successor(TenTasks(/*lanes=*/2), before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("w", 101, {held.leases(0).trainer()});
  v1::LeaseReport later = Crew::Partly(held.leases(0), 4);
  later.add_lane_tasks_done()->set_ordinal(1);
  later.mutable_lane_tasks_done(0)->set_batches(2);
  const v1::WorkerHeartbeatReply reply =
      crew.Heartbeat("w", {later, Crew::Partly(held.leases(1), 1)});
  ASSERT_THAT(reply.revoked(), SizeIs(1));
  EXPECT_EQ(reply.revoked(0).count(), held.leases(0).generation().count());
  ASSERT_THAT(reply.leases(), SizeIs(1));
  EXPECT_EQ(reply.leases(0).lane(), held.leases(0).lane());
  EXPECT_EQ(reply.leases(0).lane_tasks(0).ordinal(), 0u);
}

TEST(ChiefTakeoverTest, ClosesAgainWhatMayNotHaveBeenClosed) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  before.hold_calls = true;
  const v1::WorkerHeartbeatReply held = before.Heartbeat("w");
  before.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 0)});
  before.Advance(absl::Seconds(2));
  ASSERT_FALSE(before.held.empty()) << "the close is under way";
  EXPECT_THAT(before.closed, IsEmpty());
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.closed[0].count(held.leases(0).task().index()), 1u);
  EXPECT_EQ(crew.closed[1].count(held.leases(0).task().index()), 1u);
}

TEST(ChiefTakeoverTest, AStreamIsClosedOnlyOnceItsTaskIsStoredAsDone) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = crew.Heartbeat("w");
  crew.state_status = absl::UnavailableError("the store is away");
  crew.Heartbeat("w", {Crew::Done(held.leases(0)), Crew::Partly(held.leases(1), 0)});
  crew.Advance(absl::Seconds(30));
  EXPECT_THAT(crew.closed, IsEmpty());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << "training goes on";
  crew.state_status = absl::OkStatus();
  crew.Advance(absl::Seconds(10));
  EXPECT_THAT(crew.closed, SizeIs(2));
}

TEST(ChiefTakeoverTest, ACompletedJobStaysCompleted) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  before.WorkToTheEnd({"w"});
  before.Advance(absl::Seconds(2));
  ASSERT_EQ(before.machine.state(), v1::JOB_STATE_COMPLETED);
  Crew crew = Crew::Successor(TenTasks(), before);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().model_uri(), before.manifests.back().uri);
  EXPECT_EQ(crew.Status().progress(), 1);
  EXPECT_EQ(crew.Status().timeline(), before.Status().timeline());
}

TEST(ChiefTakeoverTest, TheNextChiefOfACompletedJobTellsWhereItsPartitionsAre) {
  Crew before(TenTasks());
  before.RegisterShards();
  before.RegisterWorker("w");
  before.WorkToTheEnd({"w"});
  before.Advance(absl::Seconds(2));
  Crew crew = Crew::Successor(TenTasks(), before);
  EXPECT_TRUE(std::equal(crew.views.back().owners().begin(), crew.views.back().owners().end(),
                         before.views.back().owners().begin(), before.views.back().owners().end()));
  crew.RegisterShards();
  crew.Advance(absl::Seconds(10));
  EXPECT_THAT(crew.loads, IsEmpty()) << "they have what they serve";
  EXPECT_EQ(crew.Status().timeline(), before.Status().timeline());
  EXPECT_EQ(crew.Status().shards(1).state(), "serving");

  for (uint32_t shard : {0u, 1u}) ASSERT_TRUE(crew.RegisterShard(shard, 777 + shard).ok());
  crew.Advance(absl::Seconds(5));
  EXPECT_THAT(crew.loads, SizeIs(2));
  EXPECT_GT(crew.Status().timeline(), before.Status().timeline());
}

TEST(ChiefTakeoverTest, AnOlderChiefStopsAndTellsNobodyAnythingMore) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.state_status = absl::AbortedError("a chief of term 2 has written");
  crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
  const size_t views = crew.views.size();
  crew.Advance(absl::Seconds(2));
  EXPECT_TRUE(crew.machine.superseded());
  (void)crew.RegisterShard(1, 77);
  EXPECT_THAT(crew.Heartbeat("w").leases(), IsEmpty());
  EXPECT_THAT(crew.views, SizeIs(views));
}

TEST(ChiefTakeoverTest, AnOlderChiefFindsOutWhenAShardRefusesIt) {
  Crew crew(TenTasks());
  crew.hold_calls = true;
  crew.RegisterShards();
  ASSERT_THAT(crew.held, SizeIs(2)) << "the loads, with nothing else to do until they are answered";
  crew.state_status = absl::AbortedError("a chief of term 2 has written");
  crew.Advance(absl::Seconds(5));
  EXPECT_FALSE(crew.machine.superseded());
  const absl::Status refusal = absl::FailedPreconditionError("the order is of term 1");
  crew.machine.OnShardReply(crew.held[0].call, refusal, crew.now);
  crew.Advance(absl::Seconds(1));
  EXPECT_TRUE(crew.machine.superseded());
}

// The chief that comes after one of which the test says how it was; heard of by all it needs.
Crew NextChief(const Crew& before) {
  Crew crew = Crew::Successor(TenTasks(), before);
  crew.ShardsHeartbeat();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  return crew;
}

TEST(ChiefTakeoverTest, AChiefThatIsRestartedAgainAndAgainSavesWhenTheLastCheckpointIsOldEnough) {
  Crew first(TenTasks());
  first.RegisterShards();
  first.RegisterWorker("w");
  first.Heartbeat("w");
  first.TakeCheckpoint();
  ASSERT_THAT(first.manifests, SizeIs(1));
  first.Advance(absl::Seconds(25));
  Crew second = NextChief(first);
  second.Advance(absl::Seconds(25));
  EXPECT_THAT(second.manifests, SizeIs(1)) << "it is 51 seconds old, and every minute one is due";
  Crew third = NextChief(second);
  third.Advance(absl::Seconds(12));
  EXPECT_THAT(third.manifests, SizeIs(2));
}

TEST(ChiefTakeoverTest, WithoutACheckpointWhatWasTrainedUnderEarlierChiefsCounts) {
  Crew first(TenTasks());
  first.RegisterShards();
  first.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = first.Heartbeat("w");
  first.Advance(absl::Seconds(40));
  first.RegisterWorker("w");
  first.Heartbeat("w", {Crew::Partly(held.leases(0), 1)});
  first.Advance(absl::Seconds(5));
  Crew second = NextChief(first);
  second.Advance(absl::Seconds(10));
  EXPECT_THAT(second.manifests, IsEmpty()) << "45 seconds of training, and 10";
  second.Advance(absl::Seconds(10));
  EXPECT_THAT(second.manifests, SizeIs(1));
}

}  // namespace
}  // namespace capstan::chief
