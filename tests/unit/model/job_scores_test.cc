#include "capstan/model/job_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;

TEST(JobScoresTest, OneLabelHasTheLossOfTheModelAndNoWeightOfItsOwn) {
  v1::JobSpec job;
  job.mutable_model()->set_loss(v1::LOSS_SOFTMAX);
  job.mutable_model()->set_outputs(3);
  const JobScores scores(job);
  const std::vector<float> logits = {1, 2, 3};
  const Scores trained = scores.Trained({.logits = logits});
  EXPECT_EQ(trained.loss, v1::LOSS_SOFTMAX);
  EXPECT_EQ(trained.outputs, 3);
  EXPECT_EQ(trained.logits.data(), logits.data());
  EXPECT_TRUE(trained.label_losses.empty());
  EXPECT_TRUE(trained.label_weights.empty());
}

TEST(JobScoresTest, SeveralLabelsAreTrainedWithTheirWeightsAndMeasuredWithout) {
  v1::JobSpec job;
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  job.mutable_model()->set_outputs(2);
  job.mutable_data()->add_labels()->set_weight(0.5F);
  v1::LabelSpec& time = *job.mutable_data()->add_labels();
  time.set_loss(v1::LOSS_SQUARED);
  time.set_weight(2);
  const JobScores scores(job);
  const Scores trained = scores.Trained({});
  EXPECT_THAT(trained.label_losses, ElementsAre(v1::LOSS_LOGISTIC, v1::LOSS_SQUARED));
  EXPECT_THAT(trained.label_weights, ElementsAre(0.5F, 2));
  const Scores measured = scores.Measured({});
  EXPECT_THAT(measured.label_losses, ElementsAre(v1::LOSS_LOGISTIC, v1::LOSS_SQUARED));
  EXPECT_TRUE(measured.label_weights.empty());
}

}  // namespace
}  // namespace capstan
