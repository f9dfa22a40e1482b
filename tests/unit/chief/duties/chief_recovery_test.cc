// The chief's machine: back to a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ChiefRecoveryTest, TrainsOnlyWhenEveryShardHasLoaded) {
  Crew crew(TenTasks());
  crew.hold_calls = true;
  crew.RegisterShards();
  crew.RegisterWorker("w");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RESTORING);
  EXPECT_THAT(crew.Heartbeat("w").leases(), IsEmpty());
  ASSERT_THAT(crew.held, SizeIs(2));
  crew.Answer(crew.held[0]);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RESTORING);
  crew.Answer(crew.held[1]);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.Heartbeat("w").leases(), SizeIs(2));
  EXPECT_EQ(crew.loads[0].uri(), "");
  EXPECT_THAT(crew.loads[0].partitions(), ElementsAre(0, 2, 4, 6));
}

TEST(ChiefRecoveryTest, AShardThatLeavesBeforeItHasLoadedIsNotWaitedForForEver) {
  Crew crew(TenTasks());
  crew.hold_calls = true;
  crew.RegisterShards();
  EXPECT_TRUE(crew.ShardHeartbeat(1, /*draining=*/true).may_leave()) << "it holds nothing";
  crew.Stop(1);
  crew.hold_calls = false;
  crew.Advance(absl::Seconds(29));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RESTORING);
  EXPECT_THAT(crew.machine.view().owners(), Contains(1u));
  crew.Advance(absl::Seconds(5));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), testing::Each(0u));
  EXPECT_EQ(crew.machine.view().timeline(), 2u);
}

TEST(ChiefRecoveryTest, ShardsThatCannotHoldTheModelFailTheJobWithTheArithmetic) {
  CrewOptions options = TenTasks();
  options.dense_floats = 1 << 20;
  options.shard_memory = 1 << 20;
  Crew crew(options);
  crew.RegisterShards();
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("a shard of 2 has 1.0MiB of memory"));
  EXPECT_THAT(crew.loads, IsEmpty());
  options.shard_memory = 3 << 20;
  Crew roomier(options);
  roomier.RegisterShards();
  EXPECT_EQ(roomier.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefRecoveryTest, RowsThatCannotWaitForTheirAggregateFailTheJobWithTheArithmetic) {
  CrewOptions options = TenTasks();
  options.keys_a_batch = 72'000;
  options.aggregate = 8;
  options.shard_memory = 32 << 20;
  Crew crew(options);
  crew.RegisterShards();
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("(8 of 2.5MiB with 36"));
  options.aggregate = 4;
  Crew sooner(options);
  sooner.RegisterShards();
  EXPECT_EQ(sooner.machine.state(), v1::JOB_STATE_RUNNING) << sooner.machine.reason();
}

TEST(ChiefRecoveryTest, AJobThatIsSentBackFromItsLastStepTrainsAgain) {
  Crew crew({.tasks = 8, .lanes = 2, .max_steps = 2});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const std::vector<v1::LeaseReport> reports = crew.CloseRounds(crew.Heartbeat("w"), 2);
  crew.Heartbeat("w", reports);
  EXPECT_THAT(crew.Heartbeat("w", reports).revoked(), SizeIs(2));
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << "it has not let go of them yet";
  ASSERT_TRUE(crew.RegisterShard(1, /*incarnation=*/77).ok());
  crew.Heartbeat("w");
  EXPECT_EQ(crew.machine.view().timeline(), 2u);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING) << crew.machine.reason();
  EXPECT_EQ(crew.Status().global_step(), 0u);
  EXPECT_THAT(crew.Heartbeat("w").leases(), SizeIs(2));
}

TEST(ChiefRecoveryTest, NobodyHearsOfTheTimelineBeforeItIsStored) {
  Crew crew(TenTasks());
  crew.hold_states = true;
  crew.RegisterShards();
  EXPECT_EQ(crew.machine.view().timeline(), 0u);
  EXPECT_THAT(crew.loads, IsEmpty());
  ASSERT_FALSE(crew.states.empty());
  EXPECT_EQ(crew.states.back().view().timeline(), 1u);
  EXPECT_EQ(crew.states.back().view().owners_size(), 8);
  crew.hold_states = false;
  crew.machine.OnStateStored(absl::OkStatus(), crew.now);
  crew.AnswerCalls();
  EXPECT_EQ(crew.machine.view().timeline(), 1u);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefRecoveryTest, AShardStartedAnewSendsEverybodyBackToTheCheckpoint) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = crew.Heartbeat("w");
  crew.Heartbeat("w", {Crew::Done(first.leases(0)), Crew::Partly(first.leases(1), 1)});
  crew.TakeCheckpoint();
  ASSERT_THAT(crew.manifests, SizeIs(1));
  crew.Heartbeat("w", {Crew::Done(first.leases(1))});
  crew.Advance(absl::Seconds(1));
  EXPECT_EQ(crew.Status().examples(), 40u);

  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), 2u);
  EXPECT_EQ(crew.loads.back().uri(), crew.manifests[0].uri);
  EXPECT_EQ(crew.answered["Load 2"], 2) << "all shards return, not only the new one";
  EXPECT_EQ(crew.Status().examples(), 30u);
  ASSERT_THAT(crew.Status().losses(), SizeIs(1));
  EXPECT_EQ(crew.Status().losses(0).examples(), 10u);
  EXPECT_THAT(crew.Status().losses(0).cause(), HasSubstr("shard 1"));
  EXPECT_EQ(crew.Status().losses(0).checkpoint(), crew.manifests[0].uri);

  // What was done in the old timeline does not count, and the task goes on at its saved prefix.
  const v1::WorkerHeartbeatReply after = crew.Heartbeat("w", {Crew::Done(first.leases(1))});
  EXPECT_THAT(after.revoked(), SizeIs(1));
  ASSERT_THAT(after.leases(), SizeIs(2));
  EXPECT_EQ(after.leases(0).task().index(), first.leases(1).task().index());
  EXPECT_EQ(after.leases(0).first_batch(), 1u);
  EXPECT_EQ(after.leases(0).timeline(), 2u);
  EXPECT_EQ(crew.Status().examples(), 30u);
}

TEST(ChiefRecoveryTest, AStreamThatWasClosedAfterTheCopiesIsClosedAgainByTheNextChiefToo) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply first = crew.Heartbeat("w");
  crew.Heartbeat("w", {Crew::Done(first.leases(0)), Crew::Partly(first.leases(1), 1)});
  EXPECT_THAT(crew.closed, IsEmpty()) << "it is not stored yet that the task is done";
  crew.TakeCheckpoint();
  crew.Heartbeat("w", {Crew::Done(first.leases(1))});
  crew.Advance(absl::Seconds(2));
  EXPECT_THAT(crew.closed[0], SizeIs(2));

  Crew next = Crew::Successor(TenTasks(), crew);
  ASSERT_TRUE(next.RegisterShard(0).ok());
  ASSERT_TRUE(next.RegisterShard(1, 77).ok());
  next.Advance(absl::Seconds(1));
  EXPECT_EQ(next.machine.view().timeline(), 2u);
  const std::map<uint64_t, uint64_t> done = {
      {StreamId::Task(0, first.leases(0).task().index()).value, kCrewBatches}};
  EXPECT_EQ(next.closed[0], done) << "the other is to be done again";
  EXPECT_EQ(next.closed[1], done);
}

TEST(ChiefRecoveryTest, WithoutACheckpointItBeginsAgainAtTheInitialValues) {
  Crew crew({.tasks = 4});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
  const uint64_t before = crew.machine.view().timeline();
  ASSERT_TRUE(crew.RegisterShard(0, 77).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.machine.view().timeline(), before + 1);
  EXPECT_EQ(crew.Status().examples(), 0u);
  EXPECT_EQ(crew.Status().losses(0).examples(), 20u);
  crew.WorkToTheEnd({"w"});
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew.Status().examples(), 80u);
}

TEST(ChiefRecoveryTest, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  for (const bool manifest_damaged : {false, true}) {
    Crew crew(TenTasks());
    crew.RegisterShards();
    crew.RegisterWorker("w");
    crew.TakeCheckpoint();
    crew.Heartbeat("w", {Crew::Done(crew.Heartbeat("w").leases(0))});
    crew.Advance(absl::Seconds(1));
    crew.TakeCheckpoint();
    ASSERT_THAT(crew.manifests, SizeIs(2));
    (manifest_damaged ? crew.damaged : crew.damaged_parts)[crew.manifests[1].uri] =
        absl::DataLossError("checksum");
    ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
    EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
    EXPECT_EQ(crew.loads.back().uri(), crew.manifests[0].uri);
    EXPECT_EQ(crew.Status().examples(), 0u);
    EXPECT_THAT(crew.log, Contains(testing::Field(&LogEvent::level, LogEvent::Level::kError)));
  }
}

TEST(ChiefRecoveryTest, FailsWhenNoCheckpointCanBeRead) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.TakeCheckpoint();
  crew.damaged[crew.manifests[0].uri] = absl::DataLossError("MANIFEST.json: checksum");
  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(crew.machine.reason(), HasSubstr("no checkpoint is left"));
}

TEST(ChiefRecoveryTest, AShardThatDiesWhileItLoadsIsLoadedAgain) {
  Crew crew(TenTasks());
  crew.hold_calls = true;
  crew.RegisterShards();
  ASSERT_THAT(crew.held, SizeIs(2));
  const std::vector<CallShard> first = std::exchange(crew.held, {});
  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  crew.Answer(first[0]);
  crew.Answer(first[1]);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RESTORING) << "the answer is a dead process's";
  ASSERT_THAT(crew.held, SizeIs(1));
  EXPECT_EQ(crew.held[0].request.Get<v1::LoadPartitionsRequest>().header().target_incarnation(),
            77u);
  crew.Answer(crew.held[0]);
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
}

TEST(ChiefRecoveryTest, LanesGoOnAtTheCoordinatorsCursors) {
  Crew crew(TenTasks(/*lanes=*/2));
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply leases = crew.Heartbeat("w");
  ASSERT_THAT(leases.leases(), SizeIs(2));
  crew.round = 3;
  crew.lane_cursors = {3, 2};
  crew.TakeCheckpoint();
  ASSERT_THAT(crew.manifests, SizeIs(1));
  EXPECT_THAT(crew.order, ElementsAre("Hold", "Commit 3", "Commit 3", "Save", "Save", "Release"));
  EXPECT_EQ(crew.manifests[0].manifest.progress().last_closed().round(), 3u);
  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  const v1::LoadPartitionsRequest* coordinator = nullptr;
  for (const v1::LoadPartitionsRequest& load : crew.loads) {
    if (load.has_coordinator()) coordinator = &load;
  }
  ASSERT_NE(coordinator, nullptr);
  EXPECT_EQ(coordinator->header().target_incarnation(), 1u) << "the owner of partition 0";
  EXPECT_EQ(coordinator->coordinator().last().round(), 3u);
  ASSERT_THAT(coordinator->coordinator().lanes(), SizeIs(2));
  EXPECT_EQ(coordinator->coordinator().lanes(0).cursor(), 3u);
  EXPECT_EQ(coordinator->coordinator().lanes(1).cursor(), 2u);
  const v1::WorkerHeartbeatReply after = crew.Heartbeat("w");
  ASSERT_THAT(after.leases(), SizeIs(2));
  EXPECT_EQ(after.leases(0).lane_tasks(0).ordinal(), 0u) << "the first task that is not done";
}

}  // namespace
}  // namespace capstan::chief
