#include "chief/duties/move_planner.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class MovePlannerTest : public DutyTest {
 protected:
  explicit MovePlannerTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {}

  void Join(uint32_t index) {
    AddShard(index);
    job_.placement.views.AddMember(index);
    Publish();
  }
  // The moves of the plan, which are ordered.
  std::vector<PlannedMove> Planned() {
    if (!job_.placement.moves.planned()) return {};
    return job_.placement.moves.Begin([](const PlannedMove&) { return uint64_t{1}; }, now_);
  }
  // Everybody is heard of at this time.
  void Pass(absl::Duration time) {
    now_ += time;
    for (const auto& [index, unused] : job_.placement.shards.shards()) shard(index).heard = now_;
  }

  // For a second shard 0, which has all partitions, serves a thousand rows of each.
  void BusyFirstShard() {
    v1::ShardReport report;
    for (uint32_t partition = 0; partition < 8; ++partition) {
      report.add_partitions()->set_partition(partition);
    }
    job_.placement.loads.Hear(0, /*incarnation=*/100, report, job_.placement.views.current(), now_);
    Pass(absl::Seconds(1));
    for (v1::PartitionLoad& load : *report.mutable_partitions()) load.set_pulled_rows(1000);
    job_.placement.loads.Hear(0, /*incarnation=*/100, report, job_.placement.views.current(), now_);
  }

  static auto MovesTo(uint32_t shard) { return testing::Field(&PlannedMove::to, shard); }
  static auto MovesFrom(uint32_t shard) { return testing::Field(&PlannedMove::from, shard); }

  MovePlanner planner_{job_, orders_};
};

class ReplicaMovePlannerTest : public MovePlannerTest {
 protected:
  ReplicaMovePlannerTest()
      : MovePlannerTest(CrewOptions{.tasks = 10, .shards = 3, .replicas = 1}) {}
};

// Each shard owns as many bytes, but shard 0 serves twice as much as shard 2, and shard 1 nothing:
// partition 0, which is small, is to go from shard 0 to shard 1. Shard 2 backs it up.
class UnevenReplicaMovePlannerTest : public ReplicaMovePlannerTest {
 protected:
  struct Load {
    uint32_t partition = 0;
    uint64_t bytes = 0;
    uint64_t rows = 0;  // A second.
  };

  UnevenReplicaMovePlannerTest() {
    Run(3);
    const std::vector<std::vector<Load>> loads = {{{0, 1, 1000}, {3, 100, 1000}, {6, 100, 0}},
                                                  {{1, 67, 0}, {4, 67, 0}, {7, 66, 0}},
                                                  {{2, 100, 1000}, {5, 100, 0}}};
    for (uint32_t shard = 0; shard < 3; ++shard) Hear(shard, loads[shard], /*seconds=*/0);
    Pass(absl::Seconds(1));
    for (uint32_t shard = 0; shard < 3; ++shard) Hear(shard, loads[shard], /*seconds=*/1);
  }

  void Hear(uint32_t shard, const std::vector<Load>& loads, uint64_t seconds) {
    v1::ShardReport report;
    for (const Load& of : loads) {
      v1::PartitionLoad& load = *report.add_partitions();
      load.set_partition(of.partition);
      load.set_bytes(of.bytes);
      load.set_pulled_rows(of.rows * seconds);
    }
    job_.placement.loads.Hear(shard, /*incarnation=*/100 + shard, report,
                              job_.placement.views.current(), now_);
  }

  // The plan is carried out.
  void CarryOut() {
    job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
    planner_.OnCarriedOut();
  }
  // A rebalance, while every backup is where it should be, has made shard 1 the owner of partition
  // 0, and shard 0 its backup.
  void RebalancePartition0() {
    planner_.Plan(now_);
    Pass(absl::Seconds(1));
    planner_.Plan(now_);
    ASSERT_FALSE(job_.placement.moves.planned()) << "all backups are where they should be";
    ASSERT_TRUE(planner_.Rebalance({}, now_).ok());
    planner_.Plan(now_);
    ASSERT_EQ(job_.placement.moves.Status().why(), "somebody has asked for it");
    ASSERT_THAT(Planned(), testing::ElementsAre(PlannedMove{0, 0, 1, /*replica=*/true}));
    Pair({0}, 1);
    OrderHandOver(0, /*to=*/1);
    job_.placement.views.CarryOutMoves();
    Publish();
    ASSERT_EQ(job_.placement.views.current().owners(0), 1u);
    ASSERT_EQ(job_.placement.views.PairOf(0)->backup(), 0u);
    CarryOut();
  }
};

TEST_F(MovePlannerTest, AShardThatHasJoinedIsGivenItsShareThreeSecondsLater) {
  Run(2);
  Join(2);
  planner_.Plan(now_);
  Pass(absl::Seconds(2.9));
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned()) << "others may come as well";
  Pass(absl::Seconds(0.1));
  planner_.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "shard 2 has joined");
  EXPECT_THAT(Planned(), testing::AllOf(testing::SizeIs(2), testing::Each(MovesTo(2))));
}

TEST_F(MovePlannerTest, AllThatALeavingShardHasGoesToTheOthersAMomentLater) {
  Run(2);
  shard(1).draining = true;
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
  Pass(absl::Milliseconds(300));
  planner_.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "shard 1 leaves");
  EXPECT_THAT(Planned(), testing::AllOf(testing::SizeIs(4), testing::Each(MovesFrom(1)),
                                        testing::Each(MovesTo(0))));
}

TEST_F(MovePlannerTest, APlanIsForgottenWhereOneWhoWasToTakeLeaves) {
  Run(2);
  Join(2);
  planner_.Plan(now_);
  Pass(absl::Seconds(3));
  planner_.Plan(now_);
  ASSERT_TRUE(job_.placement.moves.planned());
  shard(2).draining = true;
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
}

TEST_F(MovePlannerTest, WhatWasGivenUpIsPlannedAgainAndWhatWasCarriedOutIsNot) {
  Run(2);
  Join(2);
  planner_.Plan(now_);
  Pass(absl::Seconds(3));
  planner_.Plan(now_);
  ASSERT_TRUE(job_.placement.moves.planned());
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  planner_.OnGivenUp();
  planner_.Plan(now_);
  ASSERT_TRUE(job_.placement.moves.planned());
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  planner_.OnCarriedOut();
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
}

TEST_F(MovePlannerTest, ARebalanceIsShownAndMadeOnlyWhereItIsAskedFor) {
  Run(2);
  Join(2);
  job_.placement.heard_of_shards = false;
  v1::RebalanceRequest request;
  request.set_plan_only(true);
  EXPECT_THAT(planner_.Rebalance(request, now_)->moves(), testing::SizeIs(2));
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
  EXPECT_FALSE(job_.placement.heard_of_shards);

  request.set_plan_only(false);
  EXPECT_THAT(planner_.Rebalance(request, now_)->moves(), testing::SizeIs(2));
  EXPECT_TRUE(job_.placement.heard_of_shards) << "it is looked at once";
  planner_.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "somebody has asked for it");
}

TEST_F(MovePlannerTest, OnlyAJobThatTrainsIsRebalanced) {
  Run(2);
  job_.state = v1::JOB_STATE_RESTORING;
  EXPECT_TRUE(absl::IsFailedPrecondition(planner_.Rebalance({}, now_).status()));
  job_.state = v1::JOB_STATE_RUNNING;
  EXPECT_TRUE(planner_.Rebalance({}, now_).ok());
  job_.BeginEnd("");
  EXPECT_TRUE(absl::IsFailedPrecondition(planner_.Rebalance({}, now_).status()));
}

TEST_F(MovePlannerTest, WhatNobodyHasAskedForMovesAtMostFourPartitionsAtATime) {
  job_.plan.spec.mutable_rebalance()->set_automatic(true);
  MovePlanner planner(job_, orders_);
  Run(1);
  for (uint32_t index = 1; index < 8; ++index) Join(index);
  planner.See(now_);
  BusyFirstShard();
  planner.Plan(now_);
  Pass(absl::Seconds(3));
  planner.Plan(now_);
  EXPECT_THAT(Planned(), testing::SizeIs(7)) << "seven have joined, and wait for their share";
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  planner.OnCarriedOut();

  Pass(absl::Seconds(26.9));
  planner.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
  Pass(absl::Seconds(0.1));
  planner.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "a shard is much busier than the others");
  EXPECT_THAT(Planned(), testing::SizeIs(4));
}

TEST_F(MovePlannerTest, AShardIsJudgedByThoseThatAreThereNowAndNotByThoseThatWere) {
  job_.plan.spec.mutable_rebalance()->set_automatic(true);
  MovePlanner planner(job_, orders_);
  Run(1);
  Join(1);
  BusyFirstShard();
  planner.See(now_);  // The first look: shard 0 has all the load, shard 1 none.
  Pass(absl::Seconds(3));
  planner.Plan(now_);
  ASSERT_TRUE(job_.placement.moves.planned()) << "shard 1 has joined";
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  planner.OnCarriedOut();
  Pass(absl::Seconds(27));
  planner.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "a shard is much busier than the others");
}

TEST_F(ReplicaMovePlannerTest, WhatHasNoBackupIsGivenOneASecondLater) {
  Run(3);
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
  Pass(absl::Seconds(1));
  planner_.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "8 partitions have no backup");
  EXPECT_THAT(Planned(), testing::AllOf(testing::SizeIs(8), testing::Each(testing::Field(
                                                                &PlannedMove::replica, true))));
}

TEST_F(ReplicaMovePlannerTest, AShardThatLeavesIsEmptiedBeforeBackupsAreGiven) {
  Run(3);
  shard(1).draining = true;
  planner_.Plan(now_);
  Pass(absl::Seconds(1));
  planner_.Plan(now_);
  EXPECT_EQ(job_.placement.moves.Status().why(), "shard 1 leaves");
  EXPECT_THAT(Planned(),
              testing::AllOf(testing::SizeIs(3), testing::Each(MovesFrom(1)),
                             testing::Each(testing::Field(&PlannedMove::replica, false))));
}

TEST_F(UnevenReplicaMovePlannerTest, AfterARebalanceBackupsGoToAnotherZoneThanTheirOwners) {
  shard(0).zone = shard(1).zone = "a";
  shard(2).zone = "b";
  Pair({0, 1, 3, 4, 6, 7}, /*backup=*/2);
  Pair({2}, /*backup=*/0);
  Pair({5}, /*backup=*/1);
  RebalancePartition0();
  planner_.Plan(now_);
  EXPECT_THAT(Planned(), testing::ElementsAre(PlannedMove{0, 1, 2, /*replica=*/true}));
  Pair({0}, 2);
  CarryOut();
  Pass(absl::Seconds(1));
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned()) << "and that is that";
}

// The one zone of all, or none that anybody knows.
class OneZoneMovePlannerTest : public UnevenReplicaMovePlannerTest,
                               public testing::WithParamInterface<const char*> {};

TEST_P(OneZoneMovePlannerTest, BackupsStayWhereARebalanceLeavesThem) {
  for (uint32_t index = 0; index < 3; ++index) shard(index).zone = GetParam();
  Pair({0, 1, 4, 7}, /*backup=*/2);
  Pair({3, 6}, /*backup=*/1);
  Pair({2, 5}, /*backup=*/0);
  RebalancePartition0();
  planner_.Plan(now_);
  EXPECT_FALSE(job_.placement.moves.planned());
}

INSTANTIATE_TEST_SUITE_P(Zones, OneZoneMovePlannerTest, testing::Values("a", ""));

TEST_F(ReplicaMovePlannerTest,
       WhereTheLastButOneLeavesButStillBacksUpItIsNotSaidThatNothingHasABackup) {
  Run(2);
  Pair({0, 2, 4}, /*backup=*/1);
  shard(1).draining = true;
  planner_.Plan(now_);
  planner_.WatchReplicas(now_);
  EXPECT_EQ(Warning("replicas"), "");
  planner_.WatchReplicas(now_ + absl::Seconds(61));
  EXPECT_THAT(Warning("replicas"), testing::HasSubstr("5 of 8 partitions have had no backup"));
}

TEST_F(ReplicaMovePlannerTest, WhereOneShardIsAloneItIsSaidAtOnceThatNothingHasABackup) {
  Run(1);
  planner_.See(now_);
  planner_.WatchReplicas(now_);
  EXPECT_THAT(Warning("replicas"), testing::HasSubstr("there are not two shards"));
  job_.BeginEnd("");
  planner_.WatchReplicas(now_);
  EXPECT_EQ(Warning("replicas"), "");
}

TEST_F(ReplicaMovePlannerTest, WhatHasHadNoBackupForMoreThanAMinuteIsSaid) {
  Run(3);
  planner_.See(now_);
  planner_.WatchReplicas(now_);
  planner_.WatchReplicas(now_ + absl::Minutes(1));
  EXPECT_EQ(Warning("replicas"), "");
  planner_.WatchReplicas(now_ + absl::Seconds(61));
  EXPECT_THAT(Warning("replicas"), testing::StartsWith("8 of 8 partitions have had no backup"));
  job_.state = v1::JOB_STATE_RESTORING;
  planner_.WatchReplicas(now_ + absl::Seconds(62));
  EXPECT_EQ(Warning("replicas"), "");
}

}  // namespace
}  // namespace capstan::chief
