#include "chief/work/evaluation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace capstan::chief {
namespace {

// A job that is evaluated every 1,000 examples.
Evaluations EveryThousand() {
  JobPlan plan;
  plan.spec.mutable_train()->set_evaluate_every_examples(1000);
  plan.eval = std::vector<v1::Task>(1);
  return Evaluations(plan);
}

v1::Evaluation After(uint64_t examples) {
  v1::Evaluation about;
  about.set_examples(examples);
  return about;
}

TEST(EvaluationsTest, TheNextOneIsDueAtTheFirstMultipleBeyondTheLast) {
  Evaluations evaluations = EveryThousand();
  EXPECT_FALSE(evaluations.Due(999, 0));
  EXPECT_TRUE(evaluations.Due(1000, 0));
  evaluations.Restore({After(3500)}, /*examples=*/3500, /*epochs_done=*/0);
  EXPECT_FALSE(evaluations.Due(3999, 0));
  EXPECT_TRUE(evaluations.Due(4000, 0));
}

// The number comes from workers' reports: a chief that counted up to it would never answer again.
TEST(EvaluationsTest, AnAbsurdNumberOfExamplesTakesNoLongerThanAnother) {
  const uint64_t absurd = (uint64_t{1} << 63) + 12345;
  Evaluations evaluations = EveryThousand();
  evaluations.Begin(After(absurd), /*epochs_done=*/0);
  evaluations.Restore({After(absurd)}, absurd, /*epochs_done=*/0);
  EXPECT_FALSE(evaluations.Due(absurd, 0));
  EXPECT_TRUE(evaluations.Due(absurd + 1000, 0));
  evaluations.Restore({After(UINT64_MAX)}, UINT64_MAX, /*epochs_done=*/0);
  EXPECT_TRUE(evaluations.Due(UINT64_MAX, 0));
}

// A job that is evaluated at the end of each epoch.
Evaluations EveryEpoch() {
  JobPlan plan;
  plan.eval = std::vector<v1::Task>(1);
  return Evaluations(plan);
}

v1::Evaluation After(uint64_t examples, uint32_t epochs_done) {
  v1::Evaluation evaluation = After(examples);
  evaluation.set_epochs_done(epochs_done);
  return evaluation;
}

TEST(EvaluationsTest, AfterARestartNoEpochIsEvaluatedAgainHoweverFewEvaluationsThereWere) {
  Evaluations evaluations = EveryEpoch();
  evaluations.Restore({After(310, /*epochs_done=*/3)}, /*examples=*/350, /*epochs_done=*/3);
  EXPECT_FALSE(evaluations.Due(350, 3));
  EXPECT_TRUE(evaluations.Due(400, 4));
}

TEST(EvaluationsTest, AfterARestartTheEvaluationThatWasInterruptedIsMadeHoweverManyThereWere) {
  Evaluations evaluations = EveryEpoch();
  const v1::Evaluation last = After(100, /*epochs_done=*/1);
  evaluations.Restore({After(10, 0), After(20, 0), After(30, 0), last}, /*examples=*/200,
                      /*epochs_done=*/2);
  EXPECT_TRUE(evaluations.Due(200, 2));
}

TEST(EvaluationsTest, WhatAnEarlierVersionHasEvaluatedCountsAsOneForEachEpoch) {
  Evaluations evaluations = EveryEpoch();
  evaluations.Restore({After(100), After(200)}, /*examples=*/250, /*epochs_done=*/2);
  EXPECT_FALSE(evaluations.Due(250, 2));
  EXPECT_TRUE(evaluations.Due(300, 3));
}

TEST(EvaluationsTest, AnEvaluationThatWasGivenUpIsNotMadeAgainUnlessTheJobReturnsToBefore) {
  Evaluations before = EveryEpoch();
  before.Begin(After(200), /*epochs_done=*/2);
  before.GiveUp("its file is away");
  EXPECT_EQ(before.failure(), "its file is away");
  ASSERT_TRUE(before.given_up());
  Evaluations evaluations = EveryEpoch();
  evaluations.Restore({After(100, 1)}, /*examples=*/250, /*epochs_done=*/2, before.given_up());
  EXPECT_FALSE(evaluations.Due(250, 2));
  EXPECT_EQ(evaluations.failure(), "");
  evaluations.Restore(evaluations.history(), /*examples=*/150, /*epochs_done=*/1,
                      evaluations.given_up());
  EXPECT_FALSE(evaluations.Due(150, 1));
  EXPECT_TRUE(evaluations.Due(200, 2));
  EXPECT_FALSE(evaluations.given_up());
}

TEST(EvaluationsTest, TheEvaluationOfAResultMakesUpForOneThatWasGivenUp) {
  Evaluations evaluations = EveryEpoch();
  evaluations.Begin(After(200), /*epochs_done=*/2);
  evaluations.GiveUp("its file is away");
  evaluations.AddFinal({{"auc", 0.75}}, /*examples=*/100, /*step=*/10);
  EXPECT_EQ(evaluations.failure(), "");
  EXPECT_TRUE(evaluations.final_over());
}

TEST(EvaluationsTest, LabelsAreMeasuredApartAndWhoReportsOthersIsRefused) {
  JobPlan plan;
  plan.spec.mutable_model()->set_loss(v1::LOSS_SQUARED);
  for (const char* name : {"stars", "minutes"}) {
    v1::LabelSpec& label = *plan.spec.mutable_data()->add_labels();
    label.set_name(name);
    label.set_weight(1);
  }
  plan.eval = std::vector<v1::Task>(1);
  Evaluations evaluations(plan);
  evaluations.Begin(After(1000), /*epochs_done=*/1);
  Generations generations(/*term=*/1);
  for (const int labels : {1, 2}) {
    const std::optional<v1::Lease> lease = evaluations.Grant(TrainerId{1}, generations);
    ASSERT_TRUE(lease) << labels;
    v1::LeaseReport report;
    *report.mutable_generation() = lease->generation();
    report.set_finished(true);
    report.mutable_evaluation()->set_examples(4);
    for (int i = 0; i < labels; ++i) {
      v1::EvaluationResult& label = *report.mutable_evaluation()->add_labels();
      label.set_examples(4);
      label.set_squared_error(i == 0 ? 4 : 16);
    }
    const TrainerId trainers[] = {TrainerId{1}};
    EXPECT_EQ(evaluations.Report(trainers, report).failure.has_value(), labels == 1);
  }
  const v1::Evaluation evaluation = evaluations.Take();
  EXPECT_EQ(evaluation.metrics().at("rmse"), 1);
  EXPECT_EQ(evaluation.metrics().at("minutes/rmse"), 2);
}

TEST(EvaluationsTest, ALabelHasTheMetricsOfItsOwnLoss) {
  JobPlan plan;
  plan.spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  for (const v1::Loss loss : {v1::LOSS_UNSPECIFIED, v1::LOSS_SQUARED}) {
    v1::LabelSpec& label = *plan.spec.mutable_data()->add_labels();
    label.set_name(loss == v1::LOSS_SQUARED ? "amount" : "bought");
    label.set_weight(1);
    label.set_loss(loss);
  }
  plan.eval = std::vector<v1::Task>(1);
  Evaluations evaluations(plan);
  evaluations.Begin(After(1000), /*epochs_done=*/1);
  Generations generations(/*term=*/1);
  const std::optional<v1::Lease> lease = evaluations.Grant(TrainerId{1}, generations);
  ASSERT_TRUE(lease);
  v1::LeaseReport report;
  *report.mutable_generation() = lease->generation();
  report.set_finished(true);
  report.mutable_evaluation()->set_examples(4);
  v1::EvaluationResult& bought = *report.mutable_evaluation()->add_labels();
  bought.set_examples(4);
  bought.set_correct(3);
  v1::EvaluationResult& amount = *report.mutable_evaluation()->add_labels();
  amount.set_examples(4);
  amount.set_squared_error(16);
  amount.set_absolute_error(6);
  const TrainerId trainers[] = {TrainerId{1}};
  ASSERT_FALSE(evaluations.Report(trainers, report).failure.has_value());
  const v1::Evaluation evaluation = evaluations.Take();
  EXPECT_EQ(evaluation.metrics().at("accuracy"), 0.75);
  EXPECT_EQ(evaluation.metrics().at("amount/rmse"), 2);
  EXPECT_EQ(evaluation.metrics().at("amount/mae"), 1.5);
  EXPECT_EQ(evaluation.metrics().count("amount/accuracy"), 0u);
}

TEST(EvaluationsTest, SetsAreMeasuredApartAndAllButTheFirstHaveTheirNamesBeforeTheirMetrics) {
  JobPlan plan;
  plan.spec.mutable_model()->set_loss(v1::LOSS_SQUARED);
  for (const char* name : {"all", "recent"})
    plan.spec.mutable_data()->add_eval_sets()->set_name(name);
  plan.eval = std::vector<v1::Task>(3);
  plan.eval_ends = {2, 3};
  Evaluations evaluations(plan);
  evaluations.Begin(After(1000), /*epochs_done=*/1);
  Generations generations(/*term=*/1);
  for (uint64_t task = 0; task < 3; ++task) {
    const std::optional<v1::Lease> lease = evaluations.Grant(TrainerId{1}, generations);
    ASSERT_TRUE(lease);
    v1::LeaseReport report;
    *report.mutable_generation() = lease->generation();
    report.set_finished(true);
    report.mutable_evaluation()->set_examples(10);
    report.mutable_evaluation()->set_squared_error(task < 2 ? 40 : 90);
    const TrainerId trainers[] = {TrainerId{1}};
    evaluations.Report(trainers, report);
  }
  ASSERT_TRUE(evaluations.complete());
  const v1::Evaluation evaluation = evaluations.Take();
  EXPECT_EQ(evaluation.metrics().at("rmse"), 2);
  EXPECT_EQ(evaluation.metrics().at("recent/rmse"), 3);
  EXPECT_EQ(evaluation.metrics().count("all/rmse"), 0u);
}

}  // namespace
}  // namespace capstan::chief
