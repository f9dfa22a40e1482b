#include "capstan/model/metrics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "capstan/base/hash.h"
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

TEST(LogitBinTest, GrowsWithTheLogitAndIsSymmetrical) {
  int previous = -1;
  for (float logit : {-1e30f, -300.0f, -17.0f, -1.0f, -0.01f, 0.0f, 0.01f, 1.0f, 17.0f, 300.0f}) {
    const int bin = LogitBin(logit);
    EXPECT_GE(bin, previous);
    EXPECT_EQ(LogitBin(-logit), kLogitBins - 1 - bin);
    previous = bin;
  }
  EXPECT_EQ(LogitBin(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(LogitBin(std::numeric_limits<float>::infinity()), kLogitBins - 1);
  EXPECT_EQ(LogitBin(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(LogitBinTest, IsOne256thWideBelowOneAndTwiceThatBelowThree) {
  EXPECT_EQ(LogitBin(0.5f + 1.0f / 256) - LogitBin(0.5f), 1);
  EXPECT_EQ(LogitBin(0.5f + 0.9f / 256), LogitBin(0.5f));
  EXPECT_EQ(LogitBin(1.5f + 1.0f / 128) - LogitBin(1.5f), 1);
  EXPECT_EQ(LogitBin(1.5f + 0.9f / 128), LogitBin(1.5f));
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

TEST(EvaluationTest, SquaredHasRmse) {
  const std::vector<float> logits = {1, 2}, labels = {4, 2};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_SQUARED, 1, logits, labels}, sums);
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums)["rmse"], std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(MetricsOf(v1::LOSS_SQUARED, sums, /*label_unit=*/2000)["rmse"],
                   2000 * std::sqrt(4.5));
  v1::DataSpec data;
  EXPECT_EQ(InLabelUnit(data, 1.5), 1.5);
  data.set_standardize_label(true);
  data.set_label_mean(20);
  data.set_label_deviation(10);
  EXPECT_EQ(LabelUnit(data), 10);
  EXPECT_EQ(InLabelUnit(data, 1.5), 35);
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
