#include "chief/machines/early_stop.h"

#include <gtest/gtest.h>

#include <cmath>

namespace capstan::chief {
namespace {

v1::Evaluation Evaluated(const std::string& metric, double value) {
  v1::Evaluation evaluation;
  (*evaluation.mutable_metrics())[metric] = value;
  return evaluation;
}

v1::EarlyStop Options(const std::string& metric, uint32_t patience) {
  v1::EarlyStop options;
  options.set_metric(metric);
  options.set_patience(patience);
  return options;
}

TEST(EarlyStopTest, StopsAfterSoManyEvaluationsWithoutImprovement) {
  EarlyStopper stopper(Options("auc", 2));
  EXPECT_FALSE(stopper.Add(Evaluated("auc", .70)));
  EXPECT_FALSE(stopper.Add(Evaluated("auc", .69)));
  EXPECT_FALSE(stopper.Add(Evaluated("auc", .71)));
  EXPECT_FALSE(stopper.Add(Evaluated("auc", .71)));
  EXPECT_TRUE(stopper.Add(Evaluated("auc", .70)));
}

TEST(EarlyStopTest, TakesLessLoglossForBetter) {
  EarlyStopper stopper(Options("logloss", 1));
  EXPECT_FALSE(stopper.Add(Evaluated("logloss", .5)));
  EXPECT_FALSE(stopper.Add(Evaluated("logloss", .4)));
  EXPECT_TRUE(stopper.Add(Evaluated("logloss", .45)));
}

TEST(EarlyStopTest, TakesNotANumberForNoImprovement) {
  EarlyStopper stopper(Options("auc", 1));
  EXPECT_FALSE(stopper.Add(Evaluated("auc", .5)));
  EXPECT_TRUE(stopper.Add(Evaluated("auc", std::nan(""))));
}

TEST(EarlyStopTest, SaysThatAMetricNeverWasANumber) {
  EarlyStopper stopper(Options("auc", 1));
  EXPECT_EQ(stopper.Add(Evaluated("auc", std::nan(""))),
            "early stop: auc has not improved in 1 evaluations; it never was a number");
}

TEST(EarlyStopTest, AnEvaluationWithoutTheMetricCountsForNothingAndIsToldAbout) {
  EarlyStopper stopper(Options("auc.bought", 1));
  v1::Evaluation without = Evaluated("auc", .5);
  without.set_number(3);
  EXPECT_FALSE(stopper.Add(without));
  EXPECT_FALSE(stopper.Add(without));
  EXPECT_EQ(stopper.Lack(without).rfind("evaluation 3 has no auc.bought", 0), 0u);
  EXPECT_EQ(stopper.Lack(Evaluated("auc.bought", .5)), "");
  EXPECT_EQ(EarlyStopper(v1::EarlyStop()).Lack(without), "");
}

TEST(EarlyStopTest, NeverStopsUnlessAsked) {
  EarlyStopper stopper((v1::EarlyStop()));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(stopper.Add(Evaluated("auc", .5)));
}

}  // namespace
}  // namespace capstan::chief
