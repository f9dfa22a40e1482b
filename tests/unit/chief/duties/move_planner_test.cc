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
