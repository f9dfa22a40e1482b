// The chief's machine: one shard back to a checkpoint, while the others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;

CrewOptions PartialJob() {
  return {.tasks = 10, .partial = true, .uri = "/models", .checkpoint_every = 60};
}

// A report of the one table, of which ten rows are hot.
v1::ShardReport Holds(uint64_t rows, uint64_t updates, uint64_t batches_lost = 0,
                      uint64_t hot_rows_unsaved = 0) {
  v1::ShardReport report;
  report.set_batches_lost(batches_lost);
  v1::TableReport& table = *report.add_tables();
  table.set_rows(rows);
  table.set_updates(updates);
  table.set_hot_rows(10);
  table.set_hot_rows_unsaved(hot_rows_unsaved);
  return report;
}

// Two tasks are leased to w, of the first one batch is saved; then it is done.
class ChiefPartialTest : public testing::Test {
 protected:
  ChiefPartialTest() {
    crew_.RegisterShards();
    crew_.RegisterWorker("w");
    leases_ = crew_.Heartbeat("w");
    crew_.Heartbeat("w", {Crew::Partly(leases_.leases(0), 1), Crew::Partly(leases_.leases(1), 0)});
    crew_.reports[1] = Holds(100, 1000);
    crew_.ShardsHeartbeat();
    crew_.TakeCheckpoint();
    crew_.Heartbeat("w", {Crew::Done(leases_.leases(0)), Crew::Partly(leases_.leases(1), 1)});
    crew_.reports[1] = Holds(130, 1500);
    crew_.Advance(absl::Seconds(2));
  }

  Crew crew_{PartialJob()};
  v1::WorkerHeartbeatReply leases_;
};

TEST_F(ChiefPartialTest, OnlyTheShardThatWasLostLoads) {
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew_.machine.view().timeline(), 1u);
  ASSERT_THAT(crew_.loads, SizeIs(3)) << "two at the start";
  EXPECT_EQ(crew_.loads[2].uri(), crew_.manifests[0].uri);
  EXPECT_EQ(crew_.loads[2].header().target_incarnation(), 77u);
  EXPECT_EQ(crew_.Status().examples(), 30u) << "progress stays";
  EXPECT_THAT(crew_.Heartbeat("w", {Crew::Partly(leases_.leases(1), 1)}).revoked(), IsEmpty());
}

TEST_F(ChiefPartialTest, ItIsToldWhatHasHappenedSinceTheCheckpoint) {
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  const v1::PartialRecoveryStart& alone = crew_.loads.back().partial();
  ASSERT_THAT(alone.closed(), SizeIs(1));
  EXPECT_EQ(alone.closed(0).stream(), StreamId::Task(0, leases_.leases(0).task().index()).value);
  EXPECT_EQ(alone.closed(0).batches(), 2u);
  const v1::OpenStreamFacts* open = nullptr;
  for (const v1::OpenStreamFacts& stream : alone.open()) {
    if (stream.stream() == StreamId::Task(0, leases_.leases(1).task().index()).value) {
      open = &stream;
    }
  }
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->prefix(), 1u);
  EXPECT_EQ(open->generation().count(), leases_.leases(1).generation().count());
}

TEST_F(ChiefPartialTest, WhatTheCheckpointHoldsIsNotToldAgain) {
  crew_.Advance(absl::Seconds(1));
  crew_.TakeCheckpoint();
  ASSERT_THAT(crew_.manifests, SizeIs(2));
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_THAT(crew_.loads.back().partial().closed(), IsEmpty());
}

TEST_F(ChiefPartialTest, SaysWhatWasLostAndWhatIsFoundMissingLater) {
  crew_.batches_lost = 3;
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ASSERT_THAT(crew_.Status().losses(), SizeIs(1));
  EXPECT_EQ(crew_.Status().losses(0).recovery(), v1::RECOVERY_PARTIAL);
  EXPECT_EQ(crew_.Status().losses(0).batches(), 3u);
  EXPECT_EQ(crew_.Status().losses(0).examples(), 0u);
  ASSERT_THAT(crew_.Status().losses(0).tables(), SizeIs(1));
  EXPECT_EQ(crew_.Status().losses(0).tables(0).table(), "features");
  EXPECT_EQ(crew_.Status().losses(0).tables(0).updates(), 500u);
  EXPECT_EQ(crew_.Status().losses(0).tables(0).rows(), 30u);
  crew_.reports[1] = Holds(100, 5, /*batches_lost=*/7);
  crew_.ShardsHeartbeat();
  EXPECT_EQ(crew_.Status().losses(0).batches(), 7u);
}

TEST_F(ChiefPartialTest, SaysHowManyHotRowsHaveGoneBack) {
  crew_.reports[1] = Holds(130, 1500, /*batches_lost=*/0, /*hot_rows_unsaved=*/4);
  crew_.ShardsHeartbeat();
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ASSERT_THAT(crew_.Status().losses(), SizeIs(1));
  EXPECT_EQ(crew_.Status().losses(0).tables(0).hot_rows(), 4u);
  EXPECT_EQ(crew_.Status().losses(0).tables(0).hot_rows_held(), 10u);
}

TEST_F(ChiefPartialTest, HotRowsOfACheckpointThatDoesNotStandHaveGoneBackAsWell) {
  crew_.reports[1] = Holds(130, 1500, /*batches_lost=*/0, /*hot_rows_unsaved=*/4);
  crew_.ShardsHeartbeat();
  crew_.manifest_status = absl::UnavailableError("the store is away");
  crew_.TakeCheckpoint();
  crew_.reports[1] = Holds(130, 1600, /*batches_lost=*/0, /*hot_rows_unsaved=*/3);
  crew_.ShardsHeartbeat();
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ASSERT_THAT(crew_.Status().losses(), SizeIs(1));
  EXPECT_EQ(crew_.Status().losses(0).tables(0).hot_rows(), 7u);
}

TEST_F(ChiefPartialTest, NobodyCallsTheShardBeforeItsViewIsStored) {
  crew_.hold_states = true;
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_THAT(crew_.loads, SizeIs(2));
  EXPECT_EQ(crew_.machine.view().shards(1).incarnation(), 2u);
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.AnswerCalls();
  EXPECT_EQ(crew_.machine.view().shards(1).incarnation(), 77u);
  EXPECT_THAT(crew_.loads, SizeIs(3));
}

TEST_F(ChiefPartialTest, TakesNoCheckpointUntilItIsBack) {
  crew_.hold_calls = true;
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  crew_.TakeCheckpoint();
  ASSERT_THAT(crew_.held, SizeIs(1)) << "the load";
  EXPECT_THAT(crew_.Status().waiting_for(), HasSubstr("shard 1"));
  crew_.hold_calls = false;
  crew_.Answer(crew_.held[0]);
  crew_.AnswerCalls();
  EXPECT_THAT(crew_.manifests, SizeIs(2));
}

TEST_F(ChiefPartialTest, FromADamagedCheckpointEverybodyReturnsToTheOneBefore) {
  crew_.TakeCheckpoint();
  ASSERT_THAT(crew_.manifests, SizeIs(2));
  crew_.damaged_parts[crew_.manifests[1].uri] = absl::DataLossError("checksum");
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew_.machine.view().timeline(), 2u);
  EXPECT_EQ(crew_.loads.back().uri(), crew_.manifests[0].uri);
  EXPECT_EQ(crew_.answered["Load 2"], 2) << "all shards";
  EXPECT_EQ(crew_.Status().examples(), 10u);
  ASSERT_THAT(crew_.Status().losses(), SizeIs(1));
  EXPECT_THAT(crew_.Status().losses(0).cause(), HasSubstr("checksum"));
  crew_.WorkToTheEnd({"w"});
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(crew_.Status().examples(), 200u);
}

TEST_F(ChiefPartialTest, TheNextChiefTellsItAsWell) {
  Crew next = Crew::Successor(PartialJob(), crew_);
  next.ShardHeartbeat(0);
  ASSERT_TRUE(next.RegisterShard(1, 77).ok());
  ASSERT_TRUE(next.RegisterShard(0).ok());
  EXPECT_EQ(next.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(next.machine.view().timeline(), 1u);
  EXPECT_THAT(next.loads, IsEmpty()) << "w has not said how far it is";
  next.RegisterWorker("w", 101, {leases_.leases(0).trainer()});
  next.Heartbeat("w", {Crew::Partly(leases_.leases(1), 2)});
  ASSERT_THAT(next.loads, SizeIs(1));
  EXPECT_THAT(next.loads[0].partial().closed(), SizeIs(1));
  EXPECT_THAT(next.loads[0].partial().open(), Contains(Property(&v1::OpenStreamFacts::prefix, 2u)));
  EXPECT_EQ(next.Status().examples(), 40u);
}

TEST_F(ChiefPartialTest, WhereTheNextChiefCannotTellItAllEverybodyReturns) {
  crew_.states.back().set_closes_given_up(true);
  Crew next = Crew::Successor(PartialJob(), crew_);
  EXPECT_THAT(next.Status().warnings(), IsEmpty());
  next.ShardHeartbeat(0);
  ASSERT_TRUE(next.RegisterShard(0).ok());
  ASSERT_TRUE(next.RegisterShard(1).ok());
  EXPECT_THAT(next.Status().warnings(), Contains(HasSubstr("takes all others back")));
  ASSERT_TRUE(next.RegisterShard(1, 77).ok());
  EXPECT_EQ(next.machine.view().timeline(), 2u);
  EXPECT_EQ(next.Status().losses(0).recovery(), v1::RECOVERY_ROLLBACK);
}

TEST_F(ChiefPartialTest, ATaskOfWhichItsShardWasNotToldIsDoneAgainAndNotTakenOver) {
  for (const bool returned : {true, false}) {
    Crew next = Crew::Successor(PartialJob(), crew_);
    const std::string name = returned ? "late" : "later";
    crew_.RegisterWorker(name);  // While its state cannot be stored any more.
    const v1::Lease lease = crew_.Heartbeat(name).leases(0);
    next.ShardHeartbeat(0);
    ASSERT_TRUE(returned ? next.RegisterShard(1, 77).ok() : next.RegisterShard(1).ok());
    ASSERT_TRUE(next.RegisterShard(0).ok());
    next.RegisterWorker("w", 101, {leases_.leases(0).trainer()});
    next.Heartbeat("w", {Crew::Partly(leases_.leases(1), 2)}, /*wants=*/false);
    ASSERT_THAT(next.loads, SizeIs(returned ? 1 : 0));

    next.RegisterWorker(name, 102, {lease.trainer()});
    const v1::WorkerHeartbeatReply reply =
        next.Heartbeat(name, {Crew::Partly(lease, 1)}, /*wants=*/false);
    EXPECT_THAT(reply.revoked(), SizeIs(returned ? 1 : 0));
  }
}

TEST_F(ChiefPartialTest, NorDoesTheNextChiefTakeItOver) {
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  crew_.Advance(absl::Seconds(2));
  Crew next = Crew::Successor(PartialJob(), crew_);
  crew_.RegisterWorker("late");  // While its state cannot be stored any more.
  const v1::Lease lease = crew_.Heartbeat("late").leases(0);
  next.ShardsHeartbeat();
  next.RegisterWorker("late", 102, {lease.trainer()});
  EXPECT_THAT(next.Heartbeat("late", {Crew::Partly(lease, 1)}, /*wants=*/false).revoked(),
              SizeIs(1));
}

TEST_F(ChiefPartialTest, ALossThatAnEarlierChiefDidNotLiveToStoreIsHeardOfFromTheShard) {
  Crew next = Crew::Successor(PartialJob(), crew_);
  next.reports[1] = Holds(100, 5, /*batches_lost=*/4);
  next.ShardsHeartbeat();
  next.ShardsHeartbeat();
  ASSERT_THAT(next.Status().losses(), SizeIs(1));
  EXPECT_EQ(next.Status().losses(0).recovery(), v1::RECOVERY_PARTIAL);
  EXPECT_EQ(next.Status().losses(0).shard(), 1u);
  EXPECT_EQ(next.Status().losses(0).batches(), 4u);
}

TEST_F(ChiefPartialTest, AShardThatHoldsNoPartitionsYetHasNothingToReturnTo) {
  CrewOptions larger = PartialJob();
  larger.shards = 3;
  Crew next = Crew::Successor(larger, crew_);
  next.ShardsHeartbeat();
  next.RegisterWorker("w", 101, {leases_.leases(0).trainer()});
  next.Heartbeat("w", {Crew::Partly(leases_.leases(1), 1)});
  next.hold_calls = true;
  ASSERT_TRUE(next.RegisterShard(2, 50).ok());
  ASSERT_TRUE(next.RegisterShard(2, 51).ok());
  next.hold_calls = false;
  for (const CallShard& call : std::exchange(next.held, {})) next.Answer(call);
  next.Advance(absl::Seconds(5));
  EXPECT_EQ(next.Status().waiting_for(), "");
  EXPECT_THAT(next.machine.view().owners(), Contains(2u));
}

TEST_F(ChiefPartialTest, WhereAllShardsAreAnewItIsTrainedAgain) {
  Crew next = Crew::Successor(PartialJob(), crew_);
  ASSERT_TRUE(next.RegisterShard(0, 91).ok());
  ASSERT_TRUE(next.RegisterShard(1, 92).ok());
  EXPECT_EQ(next.machine.view().timeline(), 2u);
  EXPECT_EQ(next.Status().examples(), 10u);
}

}  // namespace
}  // namespace capstan::chief
