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
  void Step() {
    while (duty_.Step(/*plans=*/false, now_)) Publish();
  }
  // Each source that is asked has done what it was asked for.
  void AnswerMoves() {
    for (const CallShard& call : Calls()) {
      if (!std::holds_alternative<v1::MovePartitionsRequest>(call.request)) continue;
      v1::MovePartitionsReply reply;
      reply.set_copied(true);
      reply.set_done(true);
      const auto answer = job_.calls.OnReply(call.call, ShardReply(reply), now_);
      job_.placement.moves.OnAnswer(answer->shard, answer->reply, now_, job_.calls);
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
  Step();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_EQ(job_.placement.gate.published().moves(0).to_incarnation(), 102u);
  AnswerMoves();
  Step();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kFinishing);
  EXPECT_EQ(OwnerOf1(), 1u);
  AnswerMoves();
  Step();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_THAT(job_.placement.gate.published().moves(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.moves.Status().moved(), 1u);
}

TEST_F(MoveDutyTest, NoOwnerChangesWhileACheckpointIsTakenOrStreamsAreClosed) {
  Step();
  AnswerMoves();
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  Step();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.checkpoints.checkpointer.Abandon(absl::CancelledError(""), now_, job_.calls);
  job_.training.closes.Add(v1::StreamClose(), job_.writer);
  job_.training.closes.PassOn(/*quiet=*/false, job_.writer);
  Step();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.training.closes.Send({0}, absl::Seconds(1), job_.calls);
  job_.training.closes.OnClosed(0);
  job_.calls.Cancel(Purpose::kClose);
  Step();
  EXPECT_EQ(job_.placement.moves.phase(), PartitionMoves::Phase::kFinishing);
}

TEST_F(MoveDutyTest, WhatComesFirstCancelsABatchAndIsNotCountedAgainstItsShards) {
  Step();
  job_.recovery.partial[0].set_shard(0);
  EXPECT_TRUE(duty_.CancelIfHindered(now_));
  EXPECT_THAT(job_.placement.views.current().moves(), testing::IsEmpty());
  EXPECT_EQ(job_.placement.moves.FailuresOf(1), 0);
  EXPECT_TRUE(job_.placement.moves.MayBegin(now_));
}

TEST_F(MoveDutyTest, ABatchOfWhichAShardFallsSilentHasFailed) {
  Step();
  now_ += absl::Seconds(11);
  shard(1).heard = now_;
  EXPECT_TRUE(duty_.CancelIfHindered(now_)) << "shard 2 is not heard of";
  EXPECT_EQ(job_.placement.moves.FailuresOf(1), 1);
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 1);
  EXPECT_FALSE(job_.placement.moves.MayBegin(now_));
}

TEST_F(MoveDutyTest, OthersMayFallSilentWhilePartitionsMove) {
  Step();
  now_ += absl::Seconds(11);
  shard(1).heard = now_;
  shard(2).heard = now_;
  EXPECT_FALSE(duty_.CancelIfHindered(now_));
}

TEST_F(MoveDutyTest, WhoLeavesIsGivenNothingMore) {
  Step();
  shard(2).draining = true;
  EXPECT_TRUE(duty_.CancelIfHindered(now_));
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 0);
}

TEST_F(MoveDutyTest, ASwitchThatIsDecidedIsNotTakenBack) {
  Step();
  AnswerMoves();
  Step();
  AnswerMoves();
  ASSERT_TRUE(duty_.Step(/*plans=*/false, now_));
  job_.BeginEnd("");
  EXPECT_FALSE(duty_.CancelIfHindered(now_));
  Publish();
  Step();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_FALSE(job_.placement.moves.under_way());
}

TEST_F(MoveDutyTest, ABatchWaitsForWhatWouldHaveToWaitForIt) {
  job_.checkpoints.askers = {1};
  EXPECT_FALSE(duty_.Step(/*plans=*/true, now_)) << "a checkpoint is due";
  job_.checkpoints.askers.clear();
  job_.recovery.partial[0].set_shard(0);
  EXPECT_FALSE(duty_.Step(/*plans=*/true, now_)) << "a shard is not back";
  job_.recovery.partial.clear();
  job_.training.rest.step = Rest::Step::kDrain;
  EXPECT_FALSE(duty_.Step(/*plans=*/true, now_)) << "training comes to rest";
  job_.training.rest = {};
  job_.checkpoints.frozen = true;
  EXPECT_FALSE(duty_.Step(/*plans=*/true, now_)) << "a shard may leave by the last checkpoint";
  job_.checkpoints.frozen = false;
  EXPECT_TRUE(duty_.Step(/*plans=*/true, now_));
}

TEST_F(LaneMoveDutyTest, RoundsStandStillForTheSwitchAndGoOnAfterIt) {
  Step();
  AnswerMoves();
  Step();
  EXPECT_TRUE(job_.placement.moves.copied());
  job_.training.barrier.Seek(job_.placement.views.coordinator(), job_.options.call_deadline,
                             job_.calls);
  job_.training.barrier.OnHeld({}, {}, job_.options.call_deadline, job_.calls);
  ASSERT_TRUE(job_.training.barrier.OnCommitted(job_.calls));
  Step();
  AnswerMoves();
  Step();
  EXPECT_EQ(OwnerOf1(), 2u);
  EXPECT_FALSE(job_.training.barrier.reached());
  EXPECT_TRUE(job_.calls.Pending(Purpose::kRelease, job_.placement.views.coordinator()));
}

TEST_F(PairedMoveDutyTest, WhatABackupHasIsHandedOverWithoutACopy) {
  Step();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_TRUE(job_.placement.gate.published().moves(0).hand_over());
  EXPECT_THAT(job_.placement.gate.published().pairs(), testing::SizeIs(1));
  job_.placement.views.DropPairs([](const v1::PartitionPair&) { return true; });
  EXPECT_TRUE(duty_.CancelIfHindered(now_)) << "the backup that was to have all has nothing";
  EXPECT_EQ(job_.placement.moves.FailuresOf(2), 1);
}

TEST_F(PairedMoveDutyTest, AnotherProcessInTheBackupsPlaceIsSentACopy) {
  AddShard(2, /*incarnation=*/7);
  Publish();
  Step();
  ASSERT_THAT(job_.placement.gate.published().moves(), testing::SizeIs(1));
  EXPECT_FALSE(job_.placement.gate.published().moves(0).hand_over());
  EXPECT_THAT(job_.placement.gate.published().pairs(), testing::IsEmpty())
      << "nobody has two copies";
}

}  // namespace
}  // namespace capstan::chief
