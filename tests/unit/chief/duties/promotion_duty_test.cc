#include "chief/duties/promotion_duty.h"

#include <algorithm>

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Shard 0 owns the partitions 0, 3 and 6, shard 1 owns 1, 4 and 7, and shard 2 owns 2 and 5; each
// is backed up by the next shard.
class PromotionDutyTest : public DutyTest {
 protected:
  explicit PromotionDutyTest(uint32_t lanes = 0)
      : DutyTest(CrewOptions{
            .tasks = 10, .shards = 3, .lanes = lanes, .replicas = 1, .uri = "/models"}) {
    Run(3);
    Pair({0, 3, 6}, 1);
    Pair({1, 4, 7}, 2);
    Pair({2, 5}, 0);
  }

  // All but this one are heard of at this time.
  void Pass(absl::Duration time, uint32_t silent) {
    now_ += time;
    for (uint32_t index = 0; index < 3; ++index) {
      if (index != silent) shard(index).heard = now_;
    }
  }
  // Partition 0 is handed over to its backup, shard 1, but nobody has heard of that yet. Returns
  // the id of the move.
  v1::ViewEpoch HandOverPartition0() {
    PartitionMoves& moves = job_.placement.moves;
    moves.Plan({PlannedMove{.partition = 0, .from = 0, .to = 1}}, "somebody has asked for it");
    moves.Begin([](const PlannedMove&) { return uint64_t{0}; }, now_);
    OrderHandOver(0, /*to=*/1);
    moves.OnView(job_.placement.gate.published(), now_, job_.calls);
    v1::MovePartitionsReply reply;
    reply.set_copied(true);
    reply.set_done(true);
    moves.OnAnswer(0, ShardReply(reply), now_, job_.calls);
    moves.OnAnswer(0, ShardReply(reply), now_, job_.calls);  // It has caught up.
    moves.Finish(now_, job_.calls);
    moves.OnAnswer(0, ShardReply(reply), now_, job_.calls);
    moves.Switch();
    job_.placement.views.CarryOutMoves();
    job_.placement.views.Update(job_.state, job_.placement.shards, job_.training.workers);
    return job_.placement.gate.published().moves(0).id();
  }
  // Of all that shard 1 owns.
  absl::Status MayBeReplaced() const { return duty_.MayBeReplaced(1, now_); }

  PromotionDuty duty_{job_, orders_};
};

class LanePromotionDutyTest : public PromotionDutyTest {
 protected:
  LanePromotionDutyTest() : PromotionDutyTest(/*lanes=*/2) {}
};

TEST_F(PromotionDutyTest, OnlyAProcessOfWhichEverybodyHasHeardMayAnswerPulls) {
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 10);
  EXPECT_EQ(duty_.LeaseOf(1, 7, now_), 0) << "another process";
  AddShard(3);
  EXPECT_EQ(duty_.LeaseOf(3, 103, now_), 0) << "no view names it";
  duty_.OnShardGone(1, 101, now_);
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 0) << "it has ended";
  job_.writer.OnStored(absl::AbortedError("the state is another chief's"), now_);
  EXPECT_EQ(duty_.LeaseOf(2, 102, now_), 0) << "another chief grants them";
}

TEST_F(PromotionDutyTest, AShardThatServesAnotherTimelineHasNoLeaseAndOneThatServesNoneHas) {
  job_.placement.views.SetTimeline(job_.recovery.next_timeline++);
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 10) << "nobody has heard of the later timeline";
  Publish();
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 0);
  shard(1).loaded_timeline = 0;
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 10);
  shard(1).loaded_timeline = job_.placement.timeline();
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 10);
}

TEST_F(PromotionDutyTest, NobodyTakesOverWhileTheSilentShardMayStillAnswerPulls) {
  Pass(absl::Seconds(5), /*silent=*/1);
  (void)duty_.LeaseOf(1, 101, now_);
  Pass(absl::Seconds(10), /*silent=*/1);
  duty_.ReplaceLost(now_);
  EXPECT_TRUE(job_.placement.views.Owns(1)) << "until ten seconds and a little are over";
  Pass(absl::Seconds(0.2), /*silent=*/1);
  duty_.ReplaceLost(now_);
  EXPECT_FALSE(job_.placement.views.Owns(1));
  EXPECT_TRUE(duty_.under_way());
  EXPECT_EQ(job_.placement.shards.Find(1), nullptr) << "it is not listened to any more";
}

TEST_F(PromotionDutyTest, ForAProcessThatHasEndedBackupsTakeOverAtOnce) {
  (void)duty_.LeaseOf(1, 101, now_);
  duty_.OnShardGone(1, /*incarnation=*/7, now_);
  duty_.ReplaceLost(now_);
  EXPECT_TRUE(job_.placement.views.Owns(1)) << "that was another process";
  duty_.OnShardGone(1, 101, now_);
  duty_.ReplaceLost(now_);
  EXPECT_THAT(job_.placement.views.current().owners(),
              testing::ElementsAre(0u, 2u, 2u, 0u, 2u, 2u, 0u, 2u));
  v1::ReplicaStatus status;
  duty_.Fill(status);
  EXPECT_EQ(status.promotions(), 1u);
  EXPECT_EQ(status.promoted(), 3u);
}

TEST_F(PromotionDutyTest, AProcessThatIsHeardOfAfterItsEndWasToldLivesAfterAll) {
  const auto hear = [this] {
    v1::ShardHeartbeatRequest heartbeat;
    heartbeat.set_loaded_timeline(job_.placement.timeline());
    ShardTable::Hear(shard(1), heartbeat, now_);
  };
  duty_.OnShardGone(1, 101, now_);
  now_ += absl::Seconds(0.5);
  hear();
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 0) << "it may have said so before its end";
  now_ += absl::Seconds(1);
  hear();
  EXPECT_EQ(duty_.LeaseOf(1, 101, now_), 10);
}

TEST_F(PromotionDutyTest, NobodyTakesOverUnlessSomethingWasHeardOfShardsThatServe) {
  duty_.OnShardGone(1, 101, now_);
  job_.placement.heard_of_shards = false;
  duty_.ReplaceLost(now_);
  job_.placement.heard_of_shards = true;
  job_.state = v1::JOB_STATE_RESTORING;
  duty_.ReplaceLost(now_);
  EXPECT_FALSE(duty_.under_way());
  job_.state = v1::JOB_STATE_CHECKPOINTING;
  duty_.ReplaceLost(now_);
  EXPECT_TRUE(duty_.under_way());
}

TEST_F(PromotionDutyTest, AChiefThatHearsOfNobodyTakesNobodyForLost) {
  for (int second = 0; second < 20; ++second) {
    now_ += absl::Seconds(1);
    duty_.Listen(now_);  // It is awake.
  }
  duty_.ReplaceLost(now_);
  EXPECT_FALSE(duty_.under_way());
}

TEST_F(PromotionDutyTest, WhoComesInThePlaceOfAShardAsksAgainWhileItsBackupsMayYetBeHeardOf) {
  const auto may = [this] { return duty_.MayTakePlace(1, now_).code(); };
  EXPECT_EQ(may(), absl::StatusCode::kOk) << "its backup is there";
  (void)Taken<LogEvent>();
  now_ += absl::Seconds(20);  // Nobody is heard of.
  EXPECT_EQ(may(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
  now_ += absl::Seconds(5);
  EXPECT_EQ(may(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty()) << "it was said before";
  now_ += absl::Milliseconds(5200);
  EXPECT_EQ(may(), absl::StatusCode::kOk) << "a lease is over";
  EXPECT_EQ(may(), absl::StatusCode::kUnavailable) << "whoever comes then waits for its own";
  shard(2).heard = now_;
  EXPECT_EQ(may(), absl::StatusCode::kOk);
}

TEST_F(PromotionDutyTest, AWaitThatNobodyHasAskedForSinceIsForgotten) {
  now_ += absl::Seconds(20);
  EXPECT_FALSE(duty_.MayTakePlace(1, now_).ok());
  now_ += absl::Minutes(5);
  EXPECT_FALSE(duty_.MayTakePlace(1, now_).ok()) << "it begins anew";
  now_ += absl::Seconds(11);
  EXPECT_TRUE(duty_.MayTakePlace(1, now_).ok());
}

TEST_F(PromotionDutyTest, NobodyAsksAgainWhereNoBackupIsWaitedFor) {
  now_ += absl::Seconds(20);
  shard(2).gone = true;
  EXPECT_TRUE(duty_.MayTakePlace(1, now_).ok()) << "its backup is lost";
  shard(2).gone = false;
  EXPECT_FALSE(duty_.MayTakePlace(1, now_).ok());
  EXPECT_TRUE(duty_.MayTakePlace(5, now_).ok()) << "it owns nothing";
  job_.state = v1::JOB_STATE_RESTORING;
  EXPECT_TRUE(duty_.MayTakePlace(1, now_).ok()) << "it loads a checkpoint";
}

TEST_F(PromotionDutyTest, WhoHasHandedOverOwnsAgainWhereTheNewOwnerIsLostBeforeAnybodyHearsOfIt) {
  const uint64_t timeline = job_.placement.timeline();
  const v1::ViewEpoch id = HandOverPartition0();
  ASSERT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kSwitched);
  ASSERT_EQ(job_.placement.views.current().owners(0), 1u);
  ASSERT_EQ(job_.placement.gate.published().owners(0), 0u);
  duty_.OnShardGone(1, 101, now_);
  duty_.ReplaceLost(now_);
  Publish();
  const v1::View& view = job_.placement.gate.published();
  EXPECT_THAT(view.owners(), testing::ElementsAre(0u, 2u, 2u, 0u, 2u, 2u, 0u, 2u));
  EXPECT_THAT(view.moves(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.views.PairOf(0), nullptr);
  const auto copy = std::find_if(view.copies().begin(), view.copies().end(),
                                 [](const auto& one) { return one.partition() == 0; });
  ASSERT_NE(copy, view.copies().end());
  EXPECT_EQ(copy->move().term(), id.term());
  EXPECT_EQ(copy->move().n(), id.n()) << "by the name that its copy has since the hand-over";

  EXPECT_TRUE(job_.placement.moves.OnView(view, now_, job_.calls)) << "the batch is over";
  duty_.OnView(now_);
  EXPECT_FALSE(duty_.under_way());
  EXPECT_THAT(orders_.orders, testing::IsEmpty()) << "nobody returns to a checkpoint";
  EXPECT_EQ(view.timeline(), timeline);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
}

TEST_F(PromotionDutyTest, WhereOnePartitionHasNoBackupNoneIsTakenOver) {
  job_.placement.views.DropPairs(
      [](const v1::PartitionPair& pair) { return pair.partition() == 4; });
  duty_.OnShardGone(1, 101, now_);
  EXPECT_EQ(MayBeReplaced(), absl::FailedPreconditionError("partition 4 has no backup"));
  duty_.ReplaceLost(now_);
  EXPECT_TRUE(job_.placement.views.Owns(1));
  EXPECT_FALSE(duty_.under_way());
}

TEST_F(PromotionDutyTest, ABackupThatIsSilentMayYetTakeOver) {
  Pass(absl::Seconds(11), /*silent=*/2);
  EXPECT_TRUE(absl::IsUnavailable(MayBeReplaced()));
  job_.placement.views.DropPairs(
      [](const v1::PartitionPair& pair) { return pair.partition() == 4; });
  EXPECT_TRUE(absl::IsFailedPrecondition(MayBeReplaced())) << "in vain: one partition has none";
}

TEST_F(PromotionDutyTest, ABackupThatHasNotWhatItIsToBackUpNeverTakesOver) {
  EXPECT_TRUE(MayBeReplaced().ok());
  shard(2).loaded_timeline = job_.placement.timeline() - 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(MayBeReplaced()));
  AddShard(2, /*incarnation=*/7);
  shard(2).loaded_timeline = job_.placement.timeline();
  EXPECT_TRUE(absl::IsFailedPrecondition(MayBeReplaced())) << "another process";
}

TEST_F(PromotionDutyTest, WhereTheLastCheckpointHoldsAllEverybodyReturnsToIt) {
  job_.checkpoints.frozen = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(MayBeReplaced()));
}

TEST_F(PromotionDutyTest, ACheckpointUnderWayIsTakenAgainOfTheNewOwners) {
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1, 2}}, now_, job_.calls);
  job_.training.end.saving = true;
  duty_.Promote(1, "it was started anew", now_);
  EXPECT_FALSE(job_.checkpoints.checkpointer.running());
  EXPECT_EQ(job_.checkpoints.checkpointer.failures(), 0u);
  EXPECT_TRUE(job_.checkpoints.save_again);
  EXPECT_FALSE(job_.training.end.saving) << "the end begins it anew";
  EXPECT_THAT(orders_.orders, testing::ElementsAre("cancel moves: shard 1 is lost"));
}

TEST_F(PromotionDutyTest, WhatWasBeingFlushedIsFlushedAgainOnceTheNewOwnersArePublished) {
  job_.FlushShards();
  duty_.Promote(1, "it was started anew", now_);
  job_.placement.views.Update(job_.state, job_.placement.shards, job_.training.workers);
  duty_.OnView(now_);
  EXPECT_TRUE(duty_.under_way()) << "nobody has heard of the view";
  EXPECT_FALSE(job_.calls.Pending<v1::FlushRequest>());
  Publish();
  duty_.OnView(now_);
  EXPECT_FALSE(duty_.under_way());
  EXPECT_TRUE(job_.calls.Pending<v1::FlushRequest>(0));
  EXPECT_FALSE(job_.calls.Pending<v1::FlushRequest>(1));
  EXPECT_TRUE(job_.calls.Pending<v1::FlushRequest>(2));
}

TEST_F(PromotionDutyTest, ForAShardThatWasStartedAnewItsBackupsTakeOver) {
  AddShard(1, /*incarnation=*/7);
  duty_.OnReplaced(1, now_);
  EXPECT_FALSE(job_.placement.views.Owns(1));
  EXPECT_THAT(orders_.orders, testing::ElementsAre("cancel moves: shard 1 is lost"));
}

TEST_F(PromotionDutyTest, WhereItsBackupsCannotAllReturnAndAreToldWhy) {
  job_.placement.views.DropPairs(
      [](const v1::PartitionPair& pair) { return pair.partition() == 4; });
  duty_.OnReplaced(1, now_);
  EXPECT_TRUE(job_.placement.views.Owns(1));
  EXPECT_FALSE(duty_.under_way());
  EXPECT_THAT(
      orders_.orders,
      testing::ElementsAre("return: shard 1 was started anew, and partition 4 has no backup (1)"));
}

TEST_F(PromotionDutyTest, WithAShardThatOwnsNothingNothingIsLost) {
  AddShard(3);
  job_.placement.views.AddMember(3);
  Publish();
  AddShard(3, /*incarnation=*/7);
  duty_.OnReplaced(3, now_);
  EXPECT_FALSE(job_.placement.views.members().contains(3)) << "the new process joins anew";
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  EXPECT_FALSE(duty_.under_way());
}

TEST_F(PromotionDutyTest, AShardThatIsReplacedOnTheWayToACheckpointLoadsAsWell) {
  job_.state = v1::JOB_STATE_RESTORING;
  job_.recovery.restoration.Begin(job_.Sources(), now_);
  job_.recovery.restoration.BeginLoading({0});
  duty_.OnReplaced(1, now_);
  EXPECT_TRUE(job_.recovery.restoration.Awaits(1));
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
}

TEST_F(PromotionDutyTest, WhatWasOnItsWayToAShardThatIsReplacedStaysWhereItIs) {
  CopyPartition0();
  job_.state = v1::JOB_STATE_RESTORING;
  duty_.OnReplaced(2, now_);
  EXPECT_THAT(orders_.orders, testing::IsEmpty()) << "the move is of others";
  duty_.OnReplaced(1, now_);
  EXPECT_THAT(orders_.orders, testing::ElementsAre("cancel moves: shard 1 was started anew"));
}

class UnbackedPromotionDutyTest : public DutyTest, public testing::WithParamInterface<bool> {
 protected:
  UnbackedPromotionDutyTest()
      : DutyTest(CrewOptions{.tasks = 10, .shards = 2, .partial = GetParam(), .uri = "/models"}) {
    Run(2);
  }
  PromotionDuty duty_{job_, orders_};
};

TEST_P(UnbackedPromotionDutyTest, WithoutBackupsItReturnsAloneWhereTheJobMayDoSo) {
  duty_.OnReplaced(1, now_);
  const bool partial = GetParam();
  EXPECT_THAT(orders_.orders,
              testing::ElementsAre(partial ? "recover partially: 1"
                                           : "return: shard 1 was started anew (1)"));
}
INSTANTIATE_TEST_SUITE_P(Partial, UnbackedPromotionDutyTest, testing::Bool());

TEST_F(LanePromotionDutyTest, TheNewCoordinatorIsAskedForTheBarrierAnew) {
  job_.training.barrier.Seek(/*coordinator=*/0, job_.options.call_deadline, job_.calls);
  duty_.Promote(0, "it was started anew", now_);
  Publish();
  duty_.OnView(now_);
  EXPECT_FALSE(job_.calls.Pending<v1::HoldRoundsRequest>(0));
  EXPECT_TRUE(job_.calls.Pending<v1::HoldRoundsRequest>(1));
}

TEST_F(PromotionDutyTest, OfThoseLeftAtWorkTheBackupsAreWaitedForBeforeAllReturn) {
  for (uint32_t index = 0; index < 3; ++index) shard(index).present = false;
  job_.takeover = Takeover(job_.placement.views.current(), absl::Seconds(10), now_);
  AddShard(1, /*incarnation=*/7);
  EXPECT_TRUE(duty_.ReplaceThoseThatDidNotComeBack(now_ + absl::Seconds(9)));
  EXPECT_FALSE(duty_.ReplaceThoseThatDidNotComeBack(now_ + absl::Seconds(10)));
  EXPECT_TRUE(job_.placement.views.Owns(1));

  AddShard(2);
  shard(2).loaded_timeline = job_.placement.timeline();
  EXPECT_TRUE(duty_.ReplaceThoseThatDidNotComeBack(now_));
  EXPECT_FALSE(job_.placement.views.Owns(1));
  EXPECT_THAT(job_.takeover.Changed(job_.placement.shards), testing::IsEmpty());
  EXPECT_NE(job_.placement.shards.Find(1), nullptr) << "the new process may join";
}

}  // namespace
}  // namespace capstan::chief
