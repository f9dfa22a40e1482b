#include "chief/duties/standstill_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// An evaluation, by which the result is chosen, is due after every 40 examples.
class StandstillDutyTest : public DutyTest {
 protected:
  explicit StandstillDutyTest(uint32_t lanes = 0) : DutyTest(Judged(lanes)) { Run(2); }

  static CrewOptions Judged(uint32_t lanes) {
    CrewOptions options{
        .tasks = 10, .eval_tasks = 1, .lanes = lanes, .uri = "/models", .evaluate_every = 40};
    options.early_stop.set_metric("logloss");
    options.early_stop.set_patience(9);
    return options;
  }
  void BeginSave() { job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls); }
  void FailSave() {
    BeginSave();
    job_.checkpoints.checkpointer.Abandon(absl::UnavailableError("away"), now_, job_.calls);
  }

  StandstillDuty duty_{job_, orders_};
};

class LaneStandstillDutyTest : public StandstillDutyTest {
 protected:
  LaneStandstillDutyTest() : StandstillDutyTest(/*lanes=*/2) {}
};

TEST_F(StandstillDutyTest, TasksRestWhenTheirHoldersHaveHeardOfItAndNothingIsQueuedAnyMore) {
  Generations generations(5);
  (void)job_.training.work.tasks()->Grant(AddWorker("a").trainers[0].id, generations);
  job_.training.progress.Update(/*examples=*/40, /*steps=*/4, now_);
  duty_.Advance(now_);
  EXPECT_THAT(job_.training.end.draining, testing::ElementsAre("a"));
  EXPECT_THAT(Calls(), testing::IsEmpty()) << "it may still push";

  job_.training.end.draining.clear();
  duty_.Advance(now_);
  const std::vector<CallShard> flushes = Calls();
  ASSERT_THAT(flushes, testing::SizeIs(2));
  EXPECT_FALSE(job_.training.AtStandstill());
  for (const CallShard& flush : flushes) {
    (void)job_.calls.OnReply(flush.call, ShardReply(v1::FlushReply()), now_);
  }
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.AtStandstill());
}

TEST_F(StandstillDutyTest, TrainingRestsUntilTheBestIsSavedAndItsEvaluationIsForgottenThen) {
  job_.training.standstill = {
      .step = Standstill::Step::kReached, .evaluation = v1::Evaluation(), .save = true};
  job_.training.standstill.save_until = now_ + absl::Minutes(10);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.AtStandstill());
  job_.training.standstill.save = false;
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.AtStandstill());
  EXPECT_TRUE(job_.MayTrain());
  EXPECT_FALSE(job_.training.standstill.evaluation) << "other parameters have others";
}

TEST_F(StandstillDutyTest, TheBestIsGivenUpOnceItWasTriedForLongAndOftenEnough) {
  v1::Evaluation best;
  best.set_examples(40);
  job_.training.standstill = {.step = Standstill::Step::kReached, .evaluation = best, .save = true};
  job_.training.standstill.save_until = now_ + absl::Minutes(10);
  FailSave();
  FailSave();
  duty_.Advance(now_ + absl::Minutes(10));
  EXPECT_TRUE(job_.training.standstill.save) << "two attempts are few";
  FailSave();
  duty_.Advance(now_ + absl::Minutes(9));
  EXPECT_TRUE(job_.training.standstill.save) << "nine minutes are few";
  duty_.Advance(now_ + absl::Minutes(10));
  EXPECT_FALSE(job_.training.standstill.save);
  EXPECT_TRUE(job_.MayTrain());
  EXPECT_THAT(Warning("best model"),
              testing::AllOf(testing::HasSubstr("of 40 examples"),
                             testing::HasSubstr("lost for the result: away")));
}

TEST_F(StandstillDutyTest, NothingIsBroughtToRestOnceTheEndHasBegun) {
  job_.BeginEnd("");
  job_.training.BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now_);
  duty_.Advance(now_);
  EXPECT_EQ(job_.training.standstill.step, Standstill::Step::kNone);
  EXPECT_THAT(Calls(), testing::IsEmpty());
}

TEST_F(StandstillDutyTest, TasksAreNotBroughtToRestWhilePartitionsAreAboutToChangeTheirOwner) {
  CopyPartition0();
  job_.training.progress.Update(/*examples=*/40, /*steps=*/4, now_);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.MayTrain());
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.MayTrain());
}

TEST_F(LaneStandstillDutyTest, RoundsStandStillUntilEveryShardHasMarkedTheCheckpoint) {
  job_.training.barrier.Seek(job_.placement.views.coordinator(), job_.options.call_deadline,
                             job_.calls);
  job_.training.barrier.OnHeld({}, {}, job_.options.call_deadline, job_.calls);
  ASSERT_TRUE(job_.training.barrier.OnCommitted(job_.calls));
  BeginSave();
  job_.checkpoints.checkpointer.OnSaved(0, v1::SavePartitionsReply(), now_, job_.calls);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.barrier.reached());
  job_.checkpoints.checkpointer.OnSaved(1, v1::SavePartitionsReply(), now_, job_.calls);
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.barrier.reached());
  EXPECT_TRUE(Releases());
  EXPECT_TRUE(job_.checkpoints.checkpointer.running())
      << "what is marked is saved while rounds go on";
}

TEST_F(LaneStandstillDutyTest, AtABarrierLanesStandWhereTheCoordinatorSays) {
  job_.checkpoints.askers = {1};
  duty_.Advance(now_);
  const std::vector<CallShard> holds = Calls();
  ASSERT_THAT(holds, testing::SizeIs(1));
  v1::HoldRoundsReply held;
  for (uint64_t cursor : {7, 8}) held.add_lanes()->set_cursor(cursor);
  duty_.OnAnswer(*job_.calls.OnReply(holds[0].call, ShardReply(held), now_));
  const std::vector<CallShard> commits = Calls();
  ASSERT_THAT(commits, testing::SizeIs(2));
  for (const CallShard& commit : commits) {
    duty_.SeeBarrier();
    EXPECT_FALSE(job_.training.barrier.reached()) << "a shard has not committed the last round";
    duty_.OnAnswer(*job_.calls.OnReply(commit.call, ShardReply(v1::CommitRoundReply()), now_));
  }
  duty_.SeeBarrier();
  EXPECT_TRUE(job_.training.barrier.reached());
  v1::TaskProgress progress;
  job_.training.work.Save(progress);
  ASSERT_THAT(progress.lanes(), testing::SizeIs(2));
  EXPECT_EQ(progress.lanes(0).cursor(), 7u);
  EXPECT_EQ(progress.lanes(1).cursor(), 8u);
}

TEST_F(LaneStandstillDutyTest, WhereAShardLeavesTheOpenRoundIsWaitedForAShorterTime) {
  job_.checkpoints.askers = {1};
  duty_.Advance(now_);
  std::vector<CallShard> holds = Calls();
  ASSERT_THAT(holds, testing::SizeIs(1));
  EXPECT_EQ(holds[0].deadline, job_.options.call_deadline);

  job_.calls.CancelAll();
  job_.training.barrier.Reset();
  shard(1).draining = true;
  duty_.Advance(now_);
  holds = Calls();
  ASSERT_THAT(holds, testing::SizeIs(1));
  EXPECT_EQ(holds[0].deadline, job_.options.leaving_deadline);
}

}  // namespace
}  // namespace capstan::chief
