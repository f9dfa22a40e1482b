#include "chief/duties/move_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Partition 1 is to go from shard 1 to shard 2, which owns nothing.
class MoveDutyTest : public DutyTest {
 protected:
  explicit MoveDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {
    Run(2);
    AddShard(2);
    job_.placement.views.AddMember(2);
    Publish();
    job_.checkpoints.checkpointer.StartClock(now_);
    job_.placement.moves.Plan({PlannedMove{.partition = 1, .from = 1, .to = 2}},
                              "shard 2 has joined");
  }

  // As far as it goes by itself.
  void Advance() {
    job_.placement.heard_of_shards = false;
    duty_.Advance(now_);
  }
  // Something may be different about the shards. True: a batch is under way.
  bool AdvanceAnew() {
    job_.placement.heard_of_shards = true;
    duty_.Advance(now_);
    return job_.placement.moves.under_way();
  }
  bool UnderWay() const { return job_.placement.moves.under_way(); }
  // Each source that is asked has done what it was asked for, and what it is asked for then.
  void AnswerMoves() {
    while (job_.calls.Pending<v1::MovePartitionsRequest>()) {
      for (const CallShard& call : Calls()) {
        if (!call.request.Is<v1::MovePartitionsRequest>()) continue;
        v1::MovePartitionsReply reply;
        reply.set_copied(true);
        reply.set_done(true);
        duty_.OnAnswer(*job_.calls.OnReply(call.call, ShardReply(reply), now_), now_);
      }
    }
  }
  uint32_t OwnerOf1() const { return job_.placement.gate.published().owners(1); }

  MoveDuty duty_{job_, orders_};
};

class LaneMoveDutyTest : public MoveDutyTest {
 protected:
  LaneMoveDutyTest() : MoveDutyTest(TenTasks(/*lanes=*/2)) {}
};

// Partition 1, which is to go to shard 2, has its backup there.
class PairedMoveDutyTest : public MoveDutyTest {
 protected:
  PairedMoveDutyTest() : MoveDutyTest(CrewOptions{.tasks = 10, .replicas = 1}) { Pair({1}, 2); }
};

TEST_F(MoveDutyTest, APartitionHasItsNewOwnerOnceItsSourceHasCopiedAndStoodStill) {
  Advance();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_EQ(job_.placement.gate.published().moves(0).to_incarnation(), 102u);
  AnswerMoves();
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kFinishing);
  EXPECT_EQ(OwnerOf1(), 1u);
  AnswerMoves();
  Advance();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_THAT(job_.placement.gate.published().moves(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.moves.Status().moved(), 1u);
}

TEST_F(MoveDutyTest, NoOwnerChangesWhileACheckpointIsTakenOrStreamsAreClosed) {
  Advance();
  AnswerMoves();
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  Advance();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.checkpoints.checkpointer.Abandon(absl::CancelledError(""), now_, job_.calls);
  job_.training.closes.Add(v1::StreamClose(), job_.writer);
  job_.training.closes.PassOn(/*quiet=*/false, job_.writer);
  Advance();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.training.closes.Send({0}, absl::Seconds(1), job_.calls);
  job_.training.closes.OnClosed(0);
  job_.calls.Cancel<v1::CloseStreamsRequest>();
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kFinishing);
}

TEST_F(MoveDutyTest, WhatChangesWhileTheSwitchHasToWaitIsSentMeanwhile) {
  Advance();
  AnswerMoves();
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  Advance();
  EXPECT_FALSE(job_.calls.Pending<v1::MovePartitionsRequest>()) << "it has only just caught up";
  now_ += absl::Milliseconds(200);
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kCatchingUp);
  EXPECT_TRUE(job_.calls.Pending<v1::MovePartitionsRequest>(1));
  job_.checkpoints.checkpointer.Abandon(absl::CancelledError(""), now_, job_.calls);
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kCatchingUp)
      << "it is not asked to stand still before it has caught up";
  AnswerMoves();
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kFinishing);
}

TEST_F(MoveDutyTest, WhatComesFirstCancelsABatchAndIsNotCountedAgainstItsShards) {
  Advance();
  job_.recovery.partial[0].set_shard(0);
  Advance();
  EXPECT_FALSE(UnderWay());
  EXPECT_THAT(job_.placement.views.current().moves(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.moves.FailuresOf(1), 0);
  EXPECT_TRUE(job_.placement.moves.MayBegin(now_));
}

TEST_F(MoveDutyTest, ABatchOfWhichAShardFallsSilentHasFailed) {
  Advance();
  now_ += absl::Seconds(11);
  shard(1).heard = now_;
  Advance();
  EXPECT_FALSE(UnderWay()) << "shard 2 is not heard of";
  EXPECT_EQ(job_.placement.moves.FailuresOf(1), 1);
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 1);
  EXPECT_FALSE(job_.placement.moves.MayBegin(now_));
}

TEST_F(MoveDutyTest, OthersMayFallSilentWhilePartitionsMove) {
  Advance();
  now_ += absl::Seconds(11);
  shard(1).heard = now_;
  shard(2).heard = now_;
  Advance();
  EXPECT_TRUE(UnderWay());
}

TEST_F(MoveDutyTest, WhoLeavesIsGivenNothingMore) {
  Advance();
  shard(2).draining = true;
  Advance();
  EXPECT_FALSE(UnderWay());
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 0);
}

TEST_F(MoveDutyTest, ASwitchThatIsDecidedIsNotTakenBack) {
  Advance();
  AnswerMoves();
  Advance();
  AnswerMoves();
  orders_.publish = [] {};  // Nobody has heard of the view yet.
  Advance();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kSwitched);
  job_.BeginEnd("");
  Publish();
  Advance();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_FALSE(job_.placement.moves.under_way());
}

TEST_F(MoveDutyTest, ABatchWaitsForWhatWouldHaveToWaitForIt) {
  job_.checkpoints.askers = {1};
  EXPECT_FALSE(AdvanceAnew()) << "a checkpoint is due";
  job_.checkpoints.askers.clear();
  job_.recovery.partial[0].set_shard(0);
  EXPECT_FALSE(AdvanceAnew()) << "a shard is not back";
  job_.recovery.partial.clear();
  job_.training.standstill.step = Standstill::Step::kDrain;
  EXPECT_FALSE(AdvanceAnew()) << "training comes to a standstill";
  job_.training.standstill = {};
  job_.checkpoints.frozen = true;
  EXPECT_FALSE(AdvanceAnew()) << "a shard may leave by the last checkpoint";
  job_.checkpoints.frozen = false;
  EXPECT_TRUE(AdvanceAnew());
}

TEST_F(LaneMoveDutyTest, RoundsStandStillForTheSwitchAndGoOnAfterIt) {
  Advance();
  AnswerMoves();
  Advance();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.training.barrier.Seek(job_.placement.views.coordinator(), job_.options.call_deadline,
                             job_.calls);
  job_.training.barrier.OnHeld({}, {}, job_.options.call_deadline, job_.calls);
  ASSERT_TRUE(job_.training.barrier.OnCommitted(job_.calls));
  Advance();
  AnswerMoves();
  Advance();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_FALSE(job_.training.barrier.reached());
  EXPECT_TRUE(Releases());
}

TEST_F(PairedMoveDutyTest, WhatABackupHasIsHandedOverWithoutACopy) {
  Advance();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_TRUE(job_.placement.gate.published().moves(0).hand_over());
  EXPECT_THAT(job_.placement.gate.published().pairs(), testing::SizeIs(1));
  job_.placement.views.DropPairs([](const v1::PartitionPair&) { return true; });
  Advance();
  EXPECT_FALSE(UnderWay()) << "the backup that was to have all has nothing";
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 1);
}

TEST_F(PairedMoveDutyTest, AnotherProcessInTheBackupsPlaceIsSentACopy) {
  AddShard(2, /*incarnation=*/7);
  Publish();
  Advance();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_FALSE(job_.placement.gate.published().moves(0).hand_over());
  EXPECT_THAT(job_.placement.gate.published().pairs(), testing::IsEmpty())
      << "nobody has two copies";
}

}  // namespace
}  // namespace capstan::chief
