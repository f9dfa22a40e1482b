#include "chief/duties/evaluation_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// An evaluation of one task is due after every 40 examples.
class EvaluationDutyTest : public DutyTest {
 protected:
  // `metric`: chooses the result, and ends the job once it does not improve; empty: nothing does.
  explicit EvaluationDutyTest(const std::string& metric = "", uint32_t lanes = 0)
      : DutyTest(Every40(metric, lanes)) {
    Run(2);
  }

  static CrewOptions Every40(const std::string& metric, uint32_t lanes) {
    CrewOptions options{
        .tasks = 10, .eval_tasks = 1, .lanes = lanes, .uri = "/models", .evaluate_every = 40};
    options.early_stop.set_metric(metric);
    options.early_stop.set_patience(1);
    return options;
  }
  void AdvanceAt(uint64_t examples) {
    job_.training.progress.Update(examples, /*steps=*/4, now_);
    duty_.Advance(now_);
  }
  // The evaluation under way has this result, which the duty takes.
  void Finish(double logloss) {
    ASSERT_TRUE(job_.training.evaluations.running());
    const TrainerId trainer{1};
    v1::LeaseReport report = Crew::Done(*job_.training.evaluations.Grant(trainer, generations_));
    report.mutable_evaluation()->set_loss_sum(2 * logloss);  // Of two examples.
    job_.training.evaluations.Report({&trainer, 1}, report);
    duty_.Advance(now_);
  }

  EvaluationDuty duty_{job_, orders_};
  Generations generations_{5};
};

class JudgedEvaluationDutyTest : public EvaluationDutyTest {
 protected:
  JudgedEvaluationDutyTest() : EvaluationDutyTest("logloss") {}
};

class AbsentMetricEvaluationDutyTest : public EvaluationDutyTest {
 protected:
  AbsentMetricEvaluationDutyTest() : EvaluationDutyTest("logloss.bought") {}
};

class LaneEvaluationDutyTest : public EvaluationDutyTest {
 protected:
  LaneEvaluationDutyTest() : EvaluationDutyTest("", /*lanes=*/2) {}
};

TEST_F(EvaluationDutyTest, ALiveEvaluationBeginsWhenItIsDueAndIsOfNoParametersThatCouldBeSaved) {
  AdvanceAt(39);
  EXPECT_FALSE(job_.training.evaluations.running());
  AdvanceAt(40);
  Finish(0.5);
  const std::vector<AppendCurve> points = Taken<AppendCurve>();
  ASSERT_THAT(points, testing::SizeIs(1));
  EXPECT_EQ(points[0].evaluation.number(), 1u);
  EXPECT_EQ(points[0].evaluation.metrics().at("logloss"), 0.5);
  EXPECT_FALSE(points[0].evaluation.at_round_boundary());
  EXPECT_FALSE(job_.training.standstill.evaluation);
  EXPECT_FALSE(job_.training.evaluations.running()) << "the next one is due at 80";
}

TEST_F(JudgedEvaluationDutyTest, WhereAMetricChoosesTheResultTrainingRestsBeforeTheEvaluation) {
  AdvanceAt(40);
  EXPECT_FALSE(job_.training.evaluations.running());
  job_.training.standstill.step = Standstill::Step::kReached;
  AdvanceAt(40);
  Finish(0.5);
  ASSERT_TRUE(job_.training.standstill.evaluation);
  EXPECT_TRUE(job_.training.standstill.evaluation->at_round_boundary());
}

TEST_F(JudgedEvaluationDutyTest, OnlyWhatIsBetterThanEveryCheckpointIsToBeSavedAtOnce) {
  job_.checkpoints.catalog.Add({.id = "best", .timeline = 5, .metrics = {{"logloss", 0.3}}});
  job_.training.standstill.step = Standstill::Step::kReached;
  AdvanceAt(40);
  Finish(0.4);
  EXPECT_FALSE(job_.training.standstill.save);
  AdvanceAt(80);
  Finish(0.2);
  EXPECT_TRUE(job_.training.standstill.save);
  EXPECT_EQ(job_.training.standstill.save_until, now_ + job_.options.save_patience);
}

TEST_F(JudgedEvaluationDutyTest, AMetricThatNoLongerImprovesEndsTheJob) {
  job_.training.standstill.step = Standstill::Step::kReached;
  AdvanceAt(40);
  Finish(0.3);
  EXPECT_FALSE(job_.training.end.begun());
  AdvanceAt(80);
  Finish(0.4);
  EXPECT_TRUE(job_.training.end.begun());
  EXPECT_THAT(job_.reason, testing::HasSubstr("early stop: logloss has not improved"));
}

TEST_F(JudgedEvaluationDutyTest, TheFinalEvaluationIsKeptButOrdersNeitherASaveNorAStop) {
  job_.training.standstill.step = Standstill::Step::kReached;
  AdvanceAt(40);
  Finish(0.3);
  job_.training.standstill.save =
      false;  // It has been saved, and the job is about to end by itself.
  job_.training.BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now_);
  Finish(0.4);
  ASSERT_TRUE(job_.training.standstill.evaluation);
  EXPECT_TRUE(job_.training.standstill.evaluation->final());
  EXPECT_FALSE(job_.training.standstill.save);
  EXPECT_EQ(job_.stop, "");
}

TEST_F(EvaluationDutyTest, WhatWasSaidOfTheEvaluationBeforeIsOver) {
  job_.outbox.Warn("evaluation", "the evaluation was given up");
  AdvanceAt(40);
  Finish(2.0);
  EXPECT_EQ(Warning("evaluation"), "");
  EXPECT_THAT(Warning("held out"), testing::HasSubstr("the model is worse than none"));
  AdvanceAt(80);
  Finish(0.5);
  EXPECT_EQ(Warning("held out"), "");
}

TEST_F(LaneEvaluationDutyTest, PartitionsThatWaitForTheSameBarrierChangeTheirOwnerFirst) {
  job_.training.barrier.Seek(job_.placement.views.coordinator(), job_.options.call_deadline,
                             job_.calls);
  job_.training.barrier.OnHeld({}, {}, job_.options.call_deadline, job_.calls);
  ASSERT_TRUE(job_.training.barrier.OnCommitted(job_.calls));
  CopyPartition0();
  AdvanceAt(40);
  EXPECT_FALSE(job_.training.evaluations.running());
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  AdvanceAt(40);
  EXPECT_TRUE(job_.training.evaluations.running());
}

TEST_F(AbsentMetricEvaluationDutyTest, AJobWhoseMetricNoEvaluationHasGoesOnAndSaysSo) {
  job_.training.standstill.step = Standstill::Step::kReached;
  AdvanceAt(40);
  Finish(.5);
  EXPECT_THAT(Warning("early stop"), testing::HasSubstr("evaluation 1 has no logloss.bought"));
  EXPECT_FALSE(job_.training.end.begun());
}

}  // namespace
}  // namespace capstan::chief
