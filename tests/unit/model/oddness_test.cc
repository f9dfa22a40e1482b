#include "capstan/model/oddness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

v1::ModelSpec Logistic() {
  v1::ModelSpec model;
  model.set_loss(v1::LOSS_LOGISTIC);
  model.set_outputs(1);
  return model;
}

v1::JobSpec JobOf(const v1::ModelSpec& model) {
  v1::JobSpec job;
  *job.mutable_model() = model;
  return job;
}

v1::Evaluation Evaluated(std::initializer_list<std::pair<const char*, double>> metrics) {
  v1::Evaluation evaluation;
  for (const auto& [name, value] : metrics) (*evaluation.mutable_metrics())[name] = value;
  return evaluation;
}

TEST(OddLossTest, SaysThatALossIsFarAboveThatOfGuessing) {
  EXPECT_THAT(OddLoss(JobOf(Logistic()), 295832, 0.5),
              AllOf(HasSubstr("training loss is 2.958e+05"),
                    HasSubstr("guessing would have 0.6931"), HasSubstr("a lower learning rate")));
  EXPECT_NE(OddLoss(JobOf(Logistic()), std::numeric_limits<double>::infinity(), 0), "");
  EXPECT_NE(OddLoss(JobOf(Logistic()), std::nan(""), 0), "");
}

TEST(OddLossTest, HasNothingToSayOfALossThatIsABitWorseThanGuessing) {
  EXPECT_EQ(OddLoss(JobOf(Logistic()), 0.8, 0.5), "");
  EXPECT_EQ(OddLoss(JobOf(Logistic()), 0, 0), "");
}

TEST(OddLossTest, OfManyClassesIsMeasuredByTheirNumber) {
  v1::ModelSpec model;
  model.set_loss(v1::LOSS_SOFTMAX);
  model.set_outputs(1000);
  EXPECT_EQ(OddLoss(JobOf(model), 7, 0), "");
  EXPECT_NE(OddLoss(JobOf(model), 70, 0), "");
}

TEST(OddLossTest, OfSeveralLabelsIsMeasuredByTheirWeights) {
  v1::JobSpec job = JobOf(Logistic());
  job.mutable_model()->set_outputs(2);
  job.mutable_data()->add_labels()->set_weight(1);
  job.mutable_data()->add_labels()->set_weight(9);
  EXPECT_EQ(OddLoss(job, 10, 0), "");
  EXPECT_THAT(OddLoss(job, 11, 0), HasSubstr("guessing would have 6.931"));
  job.mutable_model()->set_user("two_tasks.py");
  EXPECT_EQ(OddLoss(job, 11, 1), "") << "a program's loss is its own";
  EXPECT_THAT(OddLoss(job, 200, 1), HasSubstr("and was 1"));
}

TEST(OddLossTest, OfNumbersIsMeasuredByItsPast) {
  v1::ModelSpec model;
  model.set_loss(v1::LOSS_SQUARED);
  EXPECT_EQ(OddLoss(JobOf(model), 1e9, 0), "");
  EXPECT_EQ(OddLoss(JobOf(model), 1e9, 0.9e9), "");
  EXPECT_THAT(OddLoss(JobOf(model), 1e9, 1e6), HasSubstr("is 1e+09, and was 1e+06"));
}

TEST(OddLossTest, OfAProgramIsMeasuredByItsPastWhateverLossTheJobNames) {
  v1::JobSpec job = JobOf(Logistic());
  job.mutable_model()->set_user("sampled_softmax.py");
  EXPECT_EQ(OddLoss(job, 4.34, 0), "") << "a softmax over 65 candidates begins with 4.17";
  EXPECT_EQ(OddLoss(job, 4.34, 1.9), "");
  EXPECT_THAT(OddLoss(job, 200, 1.9), HasSubstr("is 200, and was 1.9: training diverges"));
  for (const double least : {0.0, 1.9}) {
    EXPECT_THAT(OddLoss(job, std::nan(""), least), HasSubstr("training diverges"));
    EXPECT_THAT(OddLoss(job, std::numeric_limits<double>::infinity(), least),
                HasSubstr("the training loss is inf"));
  }
}

TEST(OddEvaluationTest, SaysThatTheModelIsWorseThanNone) {
  EXPECT_THAT(OddEvaluation(Logistic(), Evaluated({{"auc", 0.5}, {"logloss", 295832}})),
              AllOf(HasSubstr("held-out logloss is 2.958e+05"), HasSubstr("worse than none")));
  EXPECT_EQ(OddEvaluation(Logistic(), Evaluated({{"auc", 0.7}, {"logloss", 0.6}})), "");
}

TEST(OddEvaluationTest, SaysWhichLabelAllRecordsHave) {
  EXPECT_THAT(OddEvaluation(Logistic(), Evaluated({{"logloss", 0.3}})),
              HasSubstr("every held-out record has the label 0: AUC needs both classes"));
  EXPECT_THAT(OddEvaluation(Logistic(), Evaluated({{"logloss", 0.3}, {"calibration", 1}})),
              HasSubstr("the label 1"));
}

TEST(OddEvaluationTest, NamesTheLabelThatAllRecordsHaveAlike) {
  EXPECT_THAT(
      OddEvaluation(Logistic(), Evaluated({{"auc", 0.7}, {"logloss", 0.6}, {"buy/logloss", 0.1}})),
      HasSubstr("every held-out record of buy has the label 0"));
}

TEST(OddEvaluationTest, HasNothingToSayOfWhatWasNotEvaluated) {
  EXPECT_EQ(OddEvaluation(Logistic(), v1::Evaluation()), "");
}

}  // namespace
}  // namespace capstan
