#include "chief/duties/end_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class EndDutyTest : public DutyTest {
 protected:
  explicit EndDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) { Run(2); }

  // All that comes before has been done: the model is saved from now on.
  void BeginSaving() { job_.training.end = {.step = EndStep::kSave, .save_begun = now_}; }
  void FailSave() {
    job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
    job_.checkpoints.checkpointer.Abandon(absl::UnavailableError("away"), now_, job_.calls);
  }

  EndDuty duty_{job_, orders_};
};

class LaneEndDutyTest : public EndDutyTest {
 protected:
  LaneEndDutyTest() : EndDutyTest(TenTasks(/*lanes=*/2)) {}
};

// All that comes before the final evaluation has been done; nothing is saved.
class EvaluatedEndDutyTest : public EndDutyTest {
 protected:
  EvaluatedEndDutyTest() : EndDutyTest(CrewOptions{.tasks = 10, .eval_tasks = 1}) {}

  void BeginEvaluating(const std::string& stop) {
    job_.stop = stop;
    job_.BeginEnd(stop);
    job_.training.end.step = EndStep::kEvaluate;
    job_.training.end.attended = now_;
  }
  absl::Duration Lease() const { return job_.worker_lease(); }
};

// The logloss of evaluations chooses the result.
class JudgedEndDutyTest : public EndDutyTest {
 protected:
  JudgedEndDutyTest() : EndDutyTest(Judged()) {}

  static CrewOptions Judged() {
    CrewOptions options{.tasks = 10, .eval_tasks = 1, .uri = "/models"};
    options.early_stop.set_metric("logloss");
    options.early_stop.set_patience(9);
    return options;
  }
  static v1::Evaluation EvaluationOf(double logloss) {
    v1::Evaluation evaluation;
    (*evaluation.mutable_metrics())["logloss"] = logloss;
    return evaluation;
  }
};

TEST_F(EndDutyTest, AJobThatIsStoppedEndsInOrderUnlessItHasNotBegun) {
  duty_.Stop("");
  EXPECT_EQ(job_.stop, "stopped: on request");
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  job_.stop.clear();
  job_.state = v1::JOB_STATE_PENDING;
  duty_.Stop("enough");
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason, "stopped: enough, before it had begun");
}

TEST_F(EndDutyTest, AJobThatHasBegunUnderAnEarlierChiefIsStoppedThoughItWaitsForItsShards) {
  job_.state = v1::JOB_STATE_PENDING;
  job_.recovery.begins_again = true;
  duty_.Stop("enough");
  EXPECT_EQ(job_.state, v1::JOB_STATE_PENDING) << "it ends once it is restored";
  EXPECT_EQ(job_.stop, "stopped: enough");
  EXPECT_EQ(job_.reason, "");
}

TEST_F(EndDutyTest, AStopDoesNotChangeWhyAJobEndsThatEndsAlready) {
  job_.BeginEnd("early stop");
  duty_.Stop("enough");
  EXPECT_EQ(job_.stop, "stopped: enough") << "a shard that is lost now would begin training again";
  EXPECT_EQ(job_.reason, "early stop");
  duty_.Stop("really");
  EXPECT_EQ(job_.stop, "stopped: enough");
}

TEST_F(EvaluatedEndDutyTest,
       AStoppedJobEndsWithoutItsFinalEvaluationWhereNoWorkerIsThereForALease) {
  BeginEvaluating("stopped: enough");
  duty_.Advance(now_ + Lease() - absl::Milliseconds(1));
  EXPECT_TRUE(job_.training.evaluations.running());
  duty_.Advance(now_ + Lease());
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(job_.reason, testing::AllOf(testing::StartsWith("stopped: enough; the model is"),
                                          testing::EndsWith("no worker has been there for 10s to "
                                                            "do it")));
  EXPECT_THAT(Warning("evaluation"), testing::HasSubstr("ends without its final evaluation"));
}

TEST_F(EvaluatedEndDutyTest, TheLeaseBeginsWhenTheLastWorkerThatCanWorkHasGone) {
  Worker& a = AddWorker("a");
  BeginEvaluating("stopped: enough");
  now_ += absl::Hours(1);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.evaluations.running()) << "it may take as long as it takes";
  a.draining = true;
  AddWorker("b").stuck = true;
  duty_.Advance(now_ + Lease() - absl::Milliseconds(1));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  duty_.Advance(now_ + Lease());
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
}

TEST_F(EvaluatedEndDutyTest, WhereAllIsTrainedAWorkerIsWaitedForUntilSomebodyStopsTheJob) {
  BeginEvaluating("");
  now_ += absl::Hours(1);
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.evaluations.running());
  duty_.Stop("");
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(job_.reason, testing::StartsWith("the model is complete, but could not be"));
}

TEST_F(EvaluatedEndDutyTest, AnEvaluationThatWasUnderWayIsNotWaitedForEither) {
  job_.training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now_);
  BeginEvaluating("stopped: enough");
  duty_.Advance(now_ + Lease());
  duty_.Advance(now_ + Lease());
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
}

TEST_F(EndDutyTest, NothingIsFlushedWhilePartitionsAreOnTheirWay) {
  v1::PartitionMove move;
  move.set_partition(0);
  move.set_to(1);
  job_.placement.views.SetMoves({move});
  Publish();
  job_.BeginEnd("");
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), testing::IsEmpty());
  job_.placement.views.ClearMoves();
  Publish();
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), testing::SizeIs(2));
}

TEST_F(LaneEndDutyTest, TheOpenRoundIsFinishedBeforeItsLanesAreTakenBack) {
  Generations generations(5);
  const TrainerId trainer = AddWorker("a").trainers[0].id;
  job_.training.work.lanes()->Assign({&trainer, 1}, generations);
  job_.BeginEnd("");
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.work.Holds(trainer));
  EXPECT_TRUE(job_.calls.Pending<v1::HoldRoundsRequest>());

  job_.training.barrier.OnHeld({}, {}, job_.options.call_deadline, job_.calls);
  ASSERT_TRUE(job_.training.barrier.OnCommitted(job_.calls));
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.work.Holds(trainer));
  EXPECT_THAT(job_.training.end.draining, testing::ElementsAre("a"));
}

TEST_F(EndDutyTest, TheModelIsSavedOnlyOnceEveryShardHasClosedTheStreams) {
  job_.training.closes.Add(v1::StreamClose(), job_.writer);
  job_.BeginEnd("");
  duty_.Advance(now_);
  for (const CallShard& flush : Calls()) {
    (void)job_.calls.OnReply(flush.call, ShardReply(v1::FlushReply()), now_);
  }
  job_.training.closes.PassOn(/*quiet=*/false, job_.writer);
  job_.training.closes.Send({0, 1}, job_.options.call_deadline, job_.calls);
  job_.training.closes.OnClosed(0);
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  job_.training.closes.OnClosed(1);
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_CHECKPOINTING);
  EXPECT_TRUE(job_.training.end.saving);
}

TEST_F(EndDutyTest, AShardThatIsNotBackYetIsWaitedForBeforeTheModelIsSaved) {
  BeginSaving();
  job_.recovery.partial[1] = {};
  duty_.Advance(now_);
  EXPECT_FALSE(job_.training.end.saving);
  job_.recovery.partial.clear();
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.saving);
}

TEST_F(EndDutyTest, TheJobFailsOnceItsModelWasTriedToBeSavedForLongAndOftenEnough) {
  BeginSaving();
  FailSave();
  FailSave();
  duty_.Advance(now_ + absl::Minutes(11));
  EXPECT_EQ(job_.state, v1::JOB_STATE_CHECKPOINTING) << "two attempts are few";
  FailSave();
  duty_.Advance(now_ + absl::Minutes(10));
  EXPECT_EQ(job_.state, v1::JOB_STATE_CHECKPOINTING) << "the patience is not over";
  duty_.Advance(now_ + absl::Minutes(11));
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason, "the model cannot be saved: away");
}

TEST_F(JudgedEndDutyTest, ACheckpointThatWasEvaluatedToBeBetterIsTheResult) {
  job_.checkpoints.catalog.Add({.id = "better",
                                .timeline = job_.recovery.first_timeline,
                                .examples = 70,
                                .metrics = {{"logloss", 0.2}}});
  job_.training.standstill.evaluation = EvaluationOf(0.5);
  BeginSaving();
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(job_.model_uri, "/models/test/checkpoints/better");
  ASSERT_THAT(job_.training.evaluations.history(), testing::SizeIs(1));
  EXPECT_TRUE(job_.training.evaluations.history()[0].final());
  EXPECT_EQ(job_.training.evaluations.history()[0].examples(), 70u);
}

TEST_F(JudgedEndDutyTest, AResultThatWasEvaluatedIsNotSaidToLackItsEvaluation) {
  job_.checkpoints.catalog.Add({.id = "better",
                                .timeline = job_.recovery.first_timeline,
                                .examples = 70,
                                .metrics = {{"logloss", 0.2}}});
  job_.training.standstill.evaluation = EvaluationOf(0.5);
  job_.training.BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now_);
  job_.training.evaluations.GiveUp("its file is away");
  BeginSaving();
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(job_.model_uri, "/models/test/checkpoints/better");
  EXPECT_EQ(job_.reason, "");
}

TEST_F(JudgedEndDutyTest, TheParametersAsTheyAreAreSavedWhereNoCheckpointOfThisRunIsBetter) {
  job_.checkpoints.catalog.Add({.id = "an earlier run's",
                                .timeline = job_.recovery.first_timeline - 1,
                                .metrics = {{"logloss", 0.1}}});
  job_.training.standstill.evaluation = EvaluationOf(0.5);
  BeginSaving();
  duty_.Advance(now_);
  EXPECT_TRUE(job_.training.end.saving);

  job_.checkpoints.catalog.Remove("an earlier run's");
  job_.checkpoints.catalog.Add(
      {.id = "as good", .timeline = job_.recovery.first_timeline, .metrics = {{"logloss", 0.5}}});
  duty_.Advance(now_);
  job_.training.standstill.evaluation.reset();  // Nothing is known of the parameters as they are.
  duty_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_CHECKPOINTING);
  EXPECT_EQ(job_.model_uri, "");
}

TEST_F(JudgedEndDutyTest, AModelThatCouldNotBeEvaluatedIsCompleteAndSaysSo) {
  job_.BeginEnd("stopped: enough");
  job_.training.end.step = EndStep::kEvaluate;
  duty_.Advance(now_);
  ASSERT_TRUE(job_.training.evaluations.running());
  job_.training.evaluations.GiveUp("test.csv: gone");
  duty_.Advance(now_);
  duty_.CompleteIfSaved(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_CHECKPOINTING) << "the model is not stored yet";
  job_.training.end.saved = true;
  duty_.CompleteIfSaved(now_);
  duty_.CompleteIfSaved(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(job_.reason,
              testing::AllOf(testing::StartsWith("stopped: enough; the model is complete, but"),
                             testing::EndsWith("test.csv: gone")));
  EXPECT_EQ(job_.completed, now_);
  EXPECT_THAT(Taken<AppendCurve>(), testing::SizeIs(1));
}

}  // namespace
}  // namespace capstan::chief
