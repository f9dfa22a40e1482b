// Models whose labels have losses of their own: one is logistic, another one squared.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "capstan/model/job_scores.h"
#include "capstan/model/loss.h"
#include "capstan/model/metrics.h"
#include "capstan/model/oddness.h"
#include "model_fixture.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

constexpr float kAmountWeight = 0.25f;

// `bought` has the loss of the model, which is logistic; `amount` the squared one.
v1::JobSpec Orders(const std::string& preset) {
  v1::JobSpec spec = SpecOf(preset, 4, 2);
  for (const auto& [name, weight] :
       {std::pair("bought", 1.0f), std::pair("amount", kAmountWeight)}) {
    v1::LabelSpec& label = *spec.mutable_data()->add_labels();
    label.set_name(name);
    label.set_weight(weight);
  }
  spec.mutable_data()->mutable_labels(1)->set_loss(v1::LOSS_SQUARED);
  EXPECT_EQ(LayOutModel(spec), absl::OkStatus());
  return spec;
}

// What is scored, and what each label is by itself. The second and the last order have no amount.
struct ScoredOrders {
  static constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> logits = {0.5f, 3, -1, 7, 2, -1, -2, 100};
  std::vector<float> labels = {1, 2.5f, 0, kNone, 0, 4, 1, kNone};
  std::vector<float> bought_logits = {0.5f, -1, 2, -2}, bought = {1, 0, 0, 1};
  std::vector<float> amount_logits = {3, -1}, amounts = {2.5f, 4};

  Scores Both() const { return {.logits = logits, .labels = labels}; }
  Scores Bought() const {
    return {.loss = v1::LOSS_LOGISTIC, .logits = bought_logits, .labels = bought};
  }
  Scores Amounts() const {
    return {.loss = v1::LOSS_SQUARED, .logits = amount_logits, .labels = amounts};
  }
};

TEST(LabelLossesTest, TheLossAndTheGradientOfAnOutputAreThoseOfItsLabelsLoss) {
  const v1::JobSpec job = Orders("mlp");
  const JobScores scores(job);
  const ScoredOrders orders;
  std::vector<float> gradient(8), bought(4), amounts(2);
  const double sum = LossSumAndGradient(scores.Trained(orders.Both()), 0.5f, gradient);
  const double expected = LossSumAndGradient(orders.Bought(), 0.5f, bought) +
                          kAmountWeight * LossSumAndGradient(orders.Amounts(), 0.5f, amounts);
  EXPECT_NEAR(sum, expected, 1e-12);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(gradient[2 * i], bought[i]) << i;
  EXPECT_FLOAT_EQ(gradient[1], kAmountWeight * amounts[0]);
  EXPECT_FLOAT_EQ(gradient[5], kAmountWeight * amounts[1]);
  EXPECT_EQ(gradient[3], 0) << "of an order without an amount";
}

TEST(LabelLossesTest, TheGradientsOfAModelAreThoseOfItsLoss) {
  const v1::JobSpec spec = Orders("wide_deep");
  const auto network = NetworkOf(spec);
  RandomBatch batch(spec, 6, 1);
  std::vector<float> labels;
  for (size_t i = 0; i < 6; ++i) {
    labels.insert(labels.end(), {batch.labels[i], i == 2 ? ScoredOrders::kNone : 0.7f * i - 1});
  }
  batch.labels = labels;
  ExpectGradientsOfWeightedLoss(*network, batch, /*examples=*/6);
}

TEST(LabelLossesTest, EachLabelHasTheMetricsOfItsLossAndTheLossIsThatOfTheExamples) {
  const v1::JobSpec job = Orders("mlp");
  const JobScores scores(job);
  const ScoredOrders orders;
  v1::EvaluationResult measured, sums = NoEvaluation(job.data());
  AddToEvaluation(scores.Measured(orders.Both()), measured);
  ASSERT_EQ(MergeEvaluation(measured, sums), absl::OkStatus());
  const std::map<std::string, double> metrics = MetricsOf(job, sums);
  EXPECT_THAT(metrics, UnorderedElementsAre(Key("loss"), Key("auc"), Key("logloss"),
                                            Key("accuracy"), Key("calibration"), Key("amount/loss"),
                                            Key("amount/rmse"), Key("amount/mae")));
  EXPECT_DOUBLE_EQ(metrics.at("auc"), 0.25) << "0.5 and -2 of those that were bought, 2 and -1";
  EXPECT_DOUBLE_EQ(metrics.at("amount/rmse"), std::sqrt((0.5 * 0.5 + 5 * 5) / 2));
  EXPECT_DOUBLE_EQ(metrics.at("amount/mae"), (0.5 + 5) / 2);
  EXPECT_NEAR(metrics.at("loss"), LossSum(scores.Trained(orders.Both())) / 4, 1e-12);
}

TEST(LabelLossesTest, TheMetricsOfALabelAreAmongThoseOfAJobWhoseFirstLabelIsSquared) {
  v1::JobSpec job = Orders("mlp");
  job.mutable_data()->mutable_labels(0)->set_loss(v1::LOSS_SQUARED);
  job.mutable_data()->mutable_labels(1)->set_loss(v1::LOSS_LOGISTIC);
  const std::vector<float> logits = {1, 2, 5, -2}, labels = {0, 1, 3, 0};
  v1::EvaluationResult sums;
  AddToEvaluation(JobScores(job).Measured({.logits = logits, .labels = labels}), sums);
  const std::map<std::string, double> metrics = MetricsOf(job, sums);
  EXPECT_EQ(metrics.at("mae"), 1.5);
  EXPECT_EQ(metrics.at("amount/auc"), 1);
  EXPECT_FALSE(metrics.contains("auc"));
}

TEST(LabelLossesTest, WhatIsOddOfALabelGoesByItsLoss) {
  v1::JobSpec job = Orders("mlp");
  EXPECT_EQ(OddLoss(job, 1e6, 0), "") << "a squared loss has no scale but its past";
  EXPECT_THAT(OddLoss(job, 1e6, 1), HasSubstr("and was 1"));
  job.mutable_model()->set_loss(v1::LOSS_SQUARED);
  job.mutable_data()->mutable_labels(0)->set_loss(v1::LOSS_LOGISTIC);
  v1::Evaluation evaluation;
  (*evaluation.mutable_metrics())["logloss"] = 90;
  (*evaluation.mutable_metrics())["auc"] = 0.5;
  (*evaluation.mutable_metrics())["amount/rmse"] = 1e6;
  EXPECT_THAT(OddEvaluation(job.model(), evaluation),
              HasSubstr("the held-out logloss is 90, and guessing would have 0.6931"));
  evaluation.mutable_metrics()->erase("auc");
  (*evaluation.mutable_metrics())["logloss"] = 0.1;
  EXPECT_THAT(OddEvaluation(job.model(), evaluation), HasSubstr("every held-out record has"));
  evaluation.mutable_metrics()->erase("logloss");
  EXPECT_EQ(OddEvaluation(job.model(), evaluation), "");
}

TEST(LabelLossesTest, TextsThatArePositiveNeedALogisticLabel) {
  v1::JobSpec job = Orders("mlp");
  job.mutable_data()->add_positive_labels("yes");
  EXPECT_EQ(LayOutModel(job), absl::OkStatus());
  job.mutable_data()->mutable_labels(0)->set_loss(v1::LOSS_SQUARED);
  EXPECT_THAT(std::string(LayOutModel(job).message()), HasSubstr("data.schema.positive: makes"));
}

}  // namespace
}  // namespace capstan
