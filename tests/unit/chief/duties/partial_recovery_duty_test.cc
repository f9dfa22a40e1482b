#include "chief/duties/partial_recovery_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class PartialRecoveryDutyTest : public DutyTest {
 protected:
  PartialRecoveryDutyTest()
      : DutyTest(CrewOptions{.tasks = 10, .partial = true, .uri = "/models"}) {
    Run(2);
  }

  static v1::ShardReport BatchesLost(uint64_t batches) {
    v1::ShardReport report;
    report.set_batches_lost(batches);
    return report;
  }
  // A return that is over.
  void Add(v1::Recovery recovery, uint32_t shard, uint64_t batches) {
    v1::RecoveryLoss& loss = job_.recovery.losses.emplace_back();
    loss.set_recovery(recovery);
    loss.set_shard(shard);
    loss.set_batches(batches);
  }

  PartialRecoveryDuty duty_{job_, orders_};
};

TEST_F(PartialRecoveryDutyTest, AShardReturnsAloneAndTrainingGoesOn) {
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  job_.checkpoints.frozen = true;
  duty_.Begin(1, now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_EQ(job_.placement.timeline(), job_.recovery.first_timeline);
  EXPECT_EQ(job_.recovery.restoration.source().id, "c");
  EXPECT_FALSE(job_.checkpoints.checkpointer.running())
      << "nothing is saved of a shard that has nothing";
  EXPECT_EQ(job_.checkpoints.checkpointer.failures(), 0u);
  EXPECT_FALSE(job_.checkpoints.frozen);
}

TEST_F(PartialRecoveryDutyTest, AnotherJoinsTheReturnThatIsUnderWay) {
  duty_.Begin(1, now_);
  job_.recovery.restoration.BeginLoading({1});
  duty_.Begin(0, now_ + absl::Seconds(5));
  EXPECT_TRUE(job_.recovery.restoration.Awaits(0));
  EXPECT_TRUE(job_.recovery.restoration.Awaits(1));
  EXPECT_EQ(job_.recovery.restoration.begun(), now_);
}

TEST_F(PartialRecoveryDutyTest, WhatHadMovedToTheShardIsLoadedLikeAllThatItOwns) {
  std::vector<v1::PartitionMove> moves(2);
  moves[0].set_partition(0);
  moves[0].set_to(1);
  moves[1].set_partition(1);
  moves[1].set_to(0);
  job_.placement.views.SetMoves(moves);
  Publish();
  job_.placement.views.CarryOutMoves();
  duty_.Begin(1, now_);
  ASSERT_THAT(job_.placement.views.current().copies(), testing::SizeIs(1));
  EXPECT_EQ(job_.placement.views.current().copies(0).partition(), 1u);
}

TEST_F(PartialRecoveryDutyTest, UpdatesThatTheCheckpointLacksAreLostOnce) {
  v1::ShardReport report;
  report.add_tables()->set_updates(10);
  report.mutable_tables(0)->set_rows(3);
  job_.recovery.lost_updates.Hear(1, /*incarnation=*/101, report);
  duty_.Begin(1, now_);
  duty_.Begin(1, now_);
  ASSERT_THAT(job_.recovery.partial[1].tables(), testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.partial[1].tables(0).updates(), 10u);
  EXPECT_EQ(job_.recovery.partial[1].tables(0).rows(), 3u);
}

TEST_F(PartialRecoveryDutyTest, ItsLossIsToldWhenItHasLoaded) {
  job_.checkpoints.catalog.Add({.id = "c", .timeline = job_.placement.timeline()});
  duty_.Begin(1, now_);
  v1::LoadPartitionsReply reply;
  reply.set_batches_lost(5);
  ShardCalls::Answer answer{
      .request = v1::LoadPartitionsRequest(), .shard = 0, .reply = ShardReply(reply)};
  duty_.OnLoaded(answer, now_);
  EXPECT_THAT(job_.recovery.losses, testing::IsEmpty()) << "shard 0 has lost nothing";
  answer.shard = 1;
  duty_.OnLoaded(answer, now_ + absl::Seconds(3));
  EXPECT_THAT(job_.recovery.partial, testing::IsEmpty());
  EXPECT_EQ(job_.recovery.restores, 1u);
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].recovery(), v1::RECOVERY_PARTIAL);
  EXPECT_EQ(job_.recovery.losses[0].batches(), 5u);
  EXPECT_EQ(job_.recovery.losses[0].seconds(), 3);
  EXPECT_EQ(job_.recovery.losses[0].checkpoint(), "/models/test/checkpoints/c");
}

TEST_F(PartialRecoveryDutyTest, WhatIsFoundMissingLaterIsPartOfTheShardsLastReturn) {
  Add(v1::RECOVERY_PARTIAL, /*shard=*/1, /*batches=*/2);
  Add(v1::RECOVERY_PARTIAL, /*shard=*/1, /*batches=*/5);
  Add(v1::RECOVERY_PARTIAL, /*shard=*/0, /*batches=*/1);
  duty_.Hear(1, BatchesLost(7));
  duty_.Hear(1, BatchesLost(6));
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(3));
  EXPECT_EQ(job_.recovery.losses[0].batches(), 2u);
  EXPECT_EQ(job_.recovery.losses[1].batches(), 7u);
  EXPECT_EQ(job_.recovery.losses[2].batches(), 1u);
}

TEST_F(PartialRecoveryDutyTest, WhatWasToldBeforeAllReturnedIsNotToldAgain) {
  Add(v1::RECOVERY_PARTIAL, /*shard=*/1, /*batches=*/5);
  Add(v1::RECOVERY_ROLLBACK, /*shard=*/0, /*batches=*/0);
  duty_.Hear(1, BatchesLost(5));
  EXPECT_THAT(job_.recovery.losses, testing::SizeIs(2));
  duty_.Hear(1, BatchesLost(6));
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(3));
  EXPECT_EQ(job_.recovery.losses[0].batches(), 5u) << "that return is over";
  EXPECT_EQ(job_.recovery.losses[2].shard(), 1u);
  EXPECT_EQ(job_.recovery.losses[2].cause(), "shard 1 was started anew before all returned");
}

TEST_F(PartialRecoveryDutyTest, OfAReturnThatNoChiefHasStoredTheShardTells) {
  duty_.Hear(1, BatchesLost(0));
  EXPECT_THAT(job_.recovery.losses, testing::IsEmpty());
  duty_.Hear(1, BatchesLost(4));
  ASSERT_THAT(job_.recovery.losses, testing::SizeIs(1));
  EXPECT_EQ(job_.recovery.losses[0].cause(), "shard 1 was started anew under an earlier chief");
  EXPECT_EQ(job_.recovery.losses[0].batches(), 4u);
}

TEST_F(PartialRecoveryDutyTest, WhatAShardSaysWhileItReturnsIsNoReturnOfItsOwn) {
  duty_.Begin(1, now_);
  duty_.Hear(1, BatchesLost(4));
  EXPECT_THAT(job_.recovery.losses, testing::IsEmpty());
}

TEST_F(PartialRecoveryDutyTest, WhereItCannotReturnAloneEverybodyDoes) {
  duty_.Begin(1, now_);
  duty_.GiveUp(absl::DataLossError("its checkpoint is damaged"), now_);
  EXPECT_THAT(
      orders_.orders,
      testing::ElementsAre("return: shard 1 was started anew, and its checkpoint is damaged (1)"));
}

TEST_F(PartialRecoveryDutyTest, ThatALostShardTakesAllBackIsToldUntilACheckpointSucceeds) {
  duty_.Advance(now_);
  EXPECT_EQ(Warning("closed streams"), "");
  job_.training.closes.log().GiveUp();
  duty_.Advance(now_);
  EXPECT_THAT(
      Warning("closed streams"),
      testing::HasSubstr("more than 100000 tasks have been done since the last checkpoint"));
  EXPECT_THAT(orders_.orders, testing::IsEmpty()) << "no shard is on its way back";
  job_.training.closes.log().BeginCheckpoint({});
  job_.training.closes.log().OnCheckpointStored();
  duty_.Advance(now_);
  EXPECT_EQ(Warning("closed streams"), "");
}

TEST_F(PartialRecoveryDutyTest, AReturnThatIsUnderWayIsGivenUpWithTheLogThatItNeeds) {
  duty_.Begin(1, now_);
  job_.training.closes.log().GiveUp();
  duty_.Advance(now_);
  ASSERT_THAT(orders_.orders, testing::SizeIs(1));
  EXPECT_THAT(orders_.orders[0],
              testing::HasSubstr("return: shard 1 was started anew, and more than 100000 tasks"));
}

}  // namespace
}  // namespace capstan::chief
