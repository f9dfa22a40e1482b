#include "worker/shell/step_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;

class StepGradientsTest : public testing::Test {
 protected:
  // Two trained parameters, two that are not, one row of 2.
  StepGradientsTest() {
    step_.parameters = {1, 1, 5, 7};
    step_.tables.resize(1);
    step_.tables[0].rows = {0, 0};
  }
  void Take(std::vector<float> rows, std::vector<float> trained, std::vector<float> after,
            double clip_norm) {
    StepGradients gradients(step_);
    gradients.TakeRows(0, rows);
    gradients.Take(trained);
    gradients.TakeChange(after);
    gradients.Finish(/*loss_sum=*/1, clip_norm);
  }

  const ParameterMap map_ = *ParameterMap::Create([] {
    v1::JobSpec job;
    job.set_partition_count(1);
    return job;
  }());
  Step step_{map_};
};

TEST_F(StepGradientsTest, WhatIsNotTrainedIsPushedAsBeforeLessAfter) {
  Take({2, 3}, {1, 2}, {4, 10}, /*clip_norm=*/0);
  EXPECT_THAT(step_.tables[0].row_gradients, ElementsAre(2, 3));
  EXPECT_THAT(step_.parameter_gradients, ElementsAre(1, 2, 1, -3));
  EXPECT_FALSE(step_.nonfinite);
}

TEST_F(StepGradientsTest, ClippingMeasuresAndScalesWhatIsTrainedAlone) {
  Take({0, 0}, {3, 4}, {-95, 7}, /*clip_norm=*/1);
  EXPECT_EQ(step_.gradient_norm, 5);
  EXPECT_TRUE(step_.clipped);
  EXPECT_THAT(step_.parameter_gradients,
              ElementsAre(testing::FloatEq(0.6f), testing::FloatEq(0.8f), 100, 0));
}

TEST_F(StepGradientsTest, AChangeThatIsKnownAsADifferenceIsPushedAsItIsAndNotClipped) {
  StepGradients gradients(step_);
  const std::vector<float> trained = {3, 4};
  gradients.TakeRows(0, {});
  gradients.Take(trained);
  gradients.TakeDifference(std::vector<float>{100, -2});
  gradients.Finish(1, /*clip_norm=*/1);
  EXPECT_EQ(step_.gradient_norm, 5);
  EXPECT_THAT(step_.parameter_gradients,
              ElementsAre(testing::FloatEq(0.6f), testing::FloatEq(0.8f), 100, -2));
}

TEST_F(StepGradientsTest, WhatIsTrainedIsReadWhenItIsFinishedAndWhatIsNotAtOnce) {
  std::vector<float> rows = {2, 3}, trained = {1, 2}, after = {4, 10};
  StepGradients gradients(step_);
  gradients.TakeRows(0, rows);
  gradients.Take(trained);
  gradients.TakeChange(after);
  rows[1] = 6;
  trained[0] = 9;
  after[0] = 77;
  gradients.Finish(/*loss_sum=*/1, /*clip_norm=*/0);
  EXPECT_THAT(step_.tables[0].row_gradients, ElementsAre(2, 6));
  EXPECT_THAT(step_.parameter_gradients, ElementsAre(9, 2, 1, -3));
  EXPECT_EQ(step_.gradient_norm, std::sqrt(4. + 36 + 81 + 4));
}

TEST_F(StepGradientsTest, ANumberThatIsNoneIsFoundWhereverItIs) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Take({0, 0}, {1, 1}, {kNan, 7}, 0);
  EXPECT_TRUE(step_.nonfinite);
  Take({0, kNan}, {1, 1}, {5, 7}, 0);
  EXPECT_TRUE(step_.nonfinite);
  Take({0, 0}, {1, 1}, {5, 7}, 0);
  EXPECT_FALSE(step_.nonfinite);
}

// Clipping goes by the norm, so that another order of the same additions would be other bits.
TEST_F(StepGradientsTest, SquaresAreAddedInEightSumsAndThenWhatIsLeft) {
  constexpr size_t kCount = 1003;
  step_.parameters.assign(kCount, 0);
  std::vector<float> gradient(kCount);
  for (size_t i = 0; i < kCount; ++i) gradient[i] = std::exp(static_cast<float>(i * 7919 % 41));
  double sums[8] = {};
  for (size_t i = 0; i < 1000; ++i) sums[i % 8] += static_cast<double>(gradient[i]) * gradient[i];
  double sum = 0;
  for (size_t i = 1000; i < kCount; ++i) sum += static_cast<double>(gradient[i]) * gradient[i];
  for (const double lane : sums) sum += lane;
  Take({0, 0}, gradient, {}, /*clip_norm=*/0);
  EXPECT_EQ(step_.gradient_norm, std::sqrt(sum));
  EXPECT_EQ(step_.parameter_gradients, gradient);
}

TEST_F(StepGradientsTest, WhatIsNotTakenIsZeroAlsoWhereTheStepHeldSomethingElse) {
  Take({2, 3}, {1, 2}, {4, 10}, 0);
  StepGradients gradients(step_);
  gradients.TakeRows(0, {});
  gradients.TakeZeros(1);
  gradients.Finish(1, 0);
  EXPECT_THAT(step_.tables[0].row_gradients, ElementsAre(0, 0));
  EXPECT_THAT(step_.parameter_gradients, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace capstan::worker
