#include "capstan/model/metrics.h"

#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/config/data_labels.h"
#include "capstan/model/auc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using ::testing::Key;
using ::testing::UnorderedElementsAre;

Scores Logistic(const std::vector<float>& logits, const std::vector<float>& labels) {
  return {.loss = v1::LOSS_LOGISTIC, .outputs = 1, .logits = logits, .labels = labels};
}

double ExactAuc(const std::vector<float>& logits, const std::vector<float>& labels) {
  double wins = 0, pairs = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    for (size_t j = 0; j < logits.size(); ++j) {
      if (labels[i] == 0 || labels[j] == 1) continue;
      ++pairs;
      wins += logits[i] > logits[j] ? 1.0 : logits[i] == logits[j] ? 0.5 : 0.0;
    }
  }
  return wins / pairs;
}

TEST(MetricsByScopeTest, AreApartUnderTheirBareNames) {
  v1::Evaluation evaluation;
  EXPECT_EQ(MetricsByScope(evaluation).at("").size(), 0u) << "the first set is always there";
  (*evaluation.mutable_metrics())["auc"] = 0.75;
  (*evaluation.mutable_metrics())["recent/auc"] = 0.5;
  EXPECT_EQ(MetricsByScope(evaluation).size(), 2u);
  EXPECT_EQ(MetricsByScope(evaluation).at("").at("auc"), 0.75);
  EXPECT_EQ(MetricsByScope(evaluation).at("recent").at("auc"), 0.5);
}

TEST(MoreIsBetterTest, GoesByTheMetricAndNotByItsSet) {
  EXPECT_TRUE(MoreIsBetter("recent/group_auc"));
  EXPECT_FALSE(MoreIsBetter("auc/logloss"));
}

TEST(EvaluationTest, AucAgreesWithCountingAllPairsWithinItsStatedError) {
  std::vector<float> logits, labels;
  for (uint64_t i = 0; i < 2000; ++i) {
    const double noise = Unit(Draw(1, 1, i)) + Unit(Draw(1, 2, i)) - 1.0;
    labels.push_back(i % 4 == 0 ? 1.0f : 0.0f);
    logits.push_back(static_cast<float>(3 * noise + (i % 4 == 0 ? 1.0 : 0.0) - 1.2));
  }
  v1::EvaluationResult sums;
  AddToEvaluation(Logistic(logits, labels), sums);
  const Auc auc =
      AucOf({sums.positives().data(), kLogitBins}, {sums.negatives().data(), kLogitBins});
  EXPECT_LT(auc.error, 2e-3);
  EXPECT_NEAR(auc.value, ExactAuc(logits, labels), auc.error);
  EXPECT_NEAR(auc.value, ExactAuc(logits, labels), 1e-4);
}

TEST(EvaluationTest, PartsMergeToTheWhole) {
  const std::vector<float> logits = {-2, -1, 0.5, 3}, labels = {0, 1, 0, 1};
  v1::EvaluationResult whole, first, second;
  AddToEvaluation(Logistic(logits, labels), whole);
  AddToEvaluation(Logistic({-2, -1}, {0, 1}), first);
  AddToEvaluation(Logistic({0.5, 3}, {0, 1}), second);
  v1::EvaluationResult merged;
  ASSERT_TRUE(MergeEvaluation(first, merged).ok());
  ASSERT_TRUE(MergeEvaluation(second, merged).ok());
  EXPECT_EQ(MetricsOf(v1::LOSS_LOGISTIC, merged), MetricsOf(v1::LOSS_LOGISTIC, whole));
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_LOGISTIC, whole)["auc"], 0.75);
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_LOGISTIC, whole)["accuracy"], 0.5);
}

TEST(EvaluationTest, AnExampleOfWeightTwoIsAsTwoAndOneOfWeightZeroAsNone) {
  const std::vector<float> logits = {-2, -1, 0.5f, 3}, labels = {0, 1, 0, 1},
                           weights = {2, 1, 1, 0};
  const std::vector<float> as_logits = {-2, -2, -1, 0.5f}, as_labels = {0, 0, 1, 0};
  for (const v1::Loss loss : {v1::LOSS_LOGISTIC, v1::LOSS_SQUARED}) {
    v1::EvaluationResult weighted, repeated, first, second;
    AddToEvaluation({loss, 1, logits, labels, weights}, weighted);
    AddToEvaluation({loss, 1, as_logits, as_labels}, repeated);
    const auto metrics = MetricsOf(loss, weighted);
    const auto expected = MetricsOf(loss, repeated);
    ASSERT_EQ(metrics.size(), expected.size());
    for (const auto& [name, value] : expected) {
      EXPECT_NEAR(metrics.at(name), value, 1e-12) << name;
    }
    const std::span all_logits(logits), all_labels(labels), all_weights(weights);
    AddToEvaluation({loss, 1, all_logits.first(1), all_labels.first(1), all_weights.first(1)},
                    first);
    AddToEvaluation({loss, 1, all_logits.subspan(1), all_labels.subspan(1), all_weights.subspan(1)},
                    second);
    ASSERT_TRUE(MergeEvaluation(second, first).ok());
    EXPECT_EQ(MetricsOf(loss, first), metrics);
  }
}

TEST(EvaluationTest, WithoutAnyWeightNothingIsTold) {
  const std::vector<float> logits = {-2, 1}, labels = {0, 1}, weights = {0, 0};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_LOGISTIC, 1, logits, labels, weights}, sums);
  EXPECT_TRUE(MetricsOf(v1::LOSS_LOGISTIC, sums).empty());
}

TEST(EvaluationTest, CalibrationIsMeanPredictionOverMeanLabel) {
  v1::EvaluationResult sums;
  AddToEvaluation(Logistic({0, 0, 0, 0}, {1, 0, 0, 0}), sums);
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_LOGISTIC, sums)["calibration"], 2.0);
  EXPECT_NEAR(MetricsOf(v1::LOSS_LOGISTIC, sums)["logloss"], std::log(2.0), 1e-12);
}

TEST(EvaluationTest, SoftmaxHasAccuracyAndLoglossOnly) {
  const std::vector<float> logits = {1, 2, 3, 9, 2, 3}, labels = {2, 1};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_SOFTMAX, 3, logits, labels}, sums);
  const auto metrics = MetricsOf(v1::LOSS_SOFTMAX, sums);
  EXPECT_THAT(metrics, UnorderedElementsAre(Key("loss"), Key("logloss"), Key("accuracy")));
  EXPECT_DOUBLE_EQ(metrics.at("accuracy"), 0.5);
}

TEST(EvaluationTest, SquaredHasRmseAndMae) {
  const std::vector<float> logits = {1, 2}, labels = {4, 2};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_SQUARED, 1, logits, labels}, sums);
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums)["rmse"], std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums, /*label_unit=*/2000)["rmse"],
                   2000 * std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums)["mae"], 1.5);
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums, /*label_unit=*/2000)["mae"], 3000);
  v1::DataSpec data;
  EXPECT_EQ(InLabelUnit(data, 1.5), 1.5);
  data.set_standardize_label(true);
  data.set_label_mean(20);
  data.set_label_deviation(10);
  EXPECT_EQ(LabelUnit(data), 10);
  EXPECT_EQ(InLabelUnit(data, 1.5), 35);
}

TEST(EvaluationTest, ThereIsNoMaeWhereAnEarlierWorkerHasToldNoAbsoluteErrors) {
  const std::vector<float> logits = {1, 2}, labels = {4, 2};
  v1::EvaluationResult present;
  AddToEvaluation({v1::LOSS_SQUARED, 1, logits, labels}, present);
  v1::EvaluationResult earlier = present;
  earlier.clear_absolute_error();
  for (const bool first : {true, false}) {
    v1::EvaluationResult merged;
    ASSERT_TRUE(MergeEvaluation(first ? earlier : present, merged).ok());
    ASSERT_TRUE(MergeEvaluation(first ? present : earlier, merged).ok());
    EXPECT_THAT(MetricsOf(v1::LOSS_SQUARED, merged),
                UnorderedElementsAre(Key("loss"), Key("rmse")));
  }
  v1::EvaluationResult exact;
  AddToEvaluation({v1::LOSS_SQUARED, 1, labels, labels}, exact);
  EXPECT_EQ(MetricsOf(v1::LOSS_SQUARED, exact).at("mae"), 0) << "of a model without errors";
}

// What a job may stop by is refused or taken before anything is measured (capstan/config).
TEST(EvaluationTest, EarlyStoppingMayNameWhatIsMeasuredAndNothingElse) {
  const std::vector<float> logits = {1, -2, 2, -1}, labels = {1, 0, 0, 1};
  const std::vector<uint64_t> groups = {7, 7, 8, 8};
  struct Case {
    v1::Loss loss;
    int outputs;
    bool groups;
    std::set<std::string> told_alone;  // Metrics by which no job is stopped.
  };
  for (const Case& c :
       {Case{v1::LOSS_LOGISTIC, 1, false, {"loss", "calibration"}},
        Case{v1::LOSS_LOGISTIC, 1, true, {"loss", "calibration", "group_share"}},
        Case{v1::LOSS_SQUARED, 1, false, {"loss"}}, Case{v1::LOSS_SOFTMAX, 2, false, {"loss"}}}) {
    Scores scores = {.loss = c.loss, .outputs = c.outputs, .logits = logits};
    scores.labels = std::span(labels).first(logits.size() / static_cast<size_t>(c.outputs));
    if (c.groups) scores.groups = groups;
    v1::EvaluationResult sums;
    AddToEvaluation(scores, sums);
    std::set<std::string> measured, expected = c.told_alone;
    for (const auto& [name, value] : MetricsOf(c.loss, sums)) measured.insert(name);
    for (const auto name : MeasuredWith(c.loss, c.groups)) expected.emplace(name);
    EXPECT_EQ(measured, expected) << v1::Loss_Name(c.loss);
  }
}

TEST(EvaluationTest, RefusesAHistogramOfAnotherSizeAndLeavesTheSumsAlone) {
  v1::EvaluationResult bad, into;
  bad.set_examples(1);
  bad.mutable_positives()->Resize(7, 1);
  EXPECT_EQ(MergeEvaluation(bad, into).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(into.examples(), 0u);
}

TEST(EvaluationTest, NothingEvaluatedGivesNoMetrics) {
  EXPECT_TRUE(MetricsOf(v1::LOSS_LOGISTIC, v1::EvaluationResult()).empty());
}

TEST(EvaluationTest, WhatOneClassCannotSayIsLeftOut) {
  v1::EvaluationResult ones, zeros;
  AddToEvaluation(Logistic({1, 2}, {1, 1}), ones);
  EXPECT_FALSE(MetricsOf(v1::LOSS_LOGISTIC, ones).contains("auc"));
  EXPECT_TRUE(MetricsOf(v1::LOSS_LOGISTIC, ones).contains("calibration"));
  AddToEvaluation(Logistic({1, 2}, {0, 0}), zeros);
  EXPECT_FALSE(MetricsOf(v1::LOSS_LOGISTIC, zeros).contains("auc"));
  EXPECT_FALSE(MetricsOf(v1::LOSS_LOGISTIC, zeros).contains("calibration"));
}

}  // namespace
}  // namespace capstan
