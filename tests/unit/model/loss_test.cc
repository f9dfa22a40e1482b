#include "capstan/model/loss.h"

#include <cmath>
#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace capstan {
namespace {

// The gradient against central differences, in double.
void ExpectGradient(v1::Loss loss, int outputs, std::vector<float> logits,
                    const std::vector<float>& labels) {
  std::vector<float> gradient(logits.size());
  const Scores scores{loss, outputs, logits, labels};
  const double sum = LossSumAndGradient(scores, 0.5f, gradient);
  EXPECT_DOUBLE_EQ(sum, LossSum(scores));
  for (size_t i = 0; i < logits.size(); ++i) {
    const float h = 1.0f / 256, at = logits[i];
    logits[i] = at + h;
    const double up = LossSum(scores);
    logits[i] = at - h;
    const double down = LossSum(scores);
    logits[i] = at;
    EXPECT_NEAR(gradient[i], 0.5 * (up - down) / (2 * h), 1e-4) << "logit " << i;
  }
}

TEST(LossTest, LogisticGradientIsRight) {
  ExpectGradient(v1::LOSS_LOGISTIC, 1, {-3, -0.5, 0, 2}, {0, 1, 1, 0});
}

TEST(LossTest, SoftmaxGradientIsRight) {
  ExpectGradient(v1::LOSS_SOFTMAX, 3, {1, 2, 3, -1, 0, 5}, {2, 0});
}

TEST(LossTest, SquaredGradientIsRight) { ExpectGradient(v1::LOSS_SQUARED, 1, {3.5, -1}, {4, 1}); }

TEST(LossTest, AWeightMultipliesTheLossAndTheGradientOfItsExample) {
  for (const v1::Loss loss : {v1::LOSS_LOGISTIC, v1::LOSS_SQUARED, v1::LOSS_SOFTMAX}) {
    const int outputs = loss == v1::LOSS_SOFTMAX ? 2 : 1;
    const std::vector<float> labels = {1, 0}, weights = {3, 0}, none = {1, 1};
    const std::vector<float> logits =
        outputs == 1 ? std::vector<float>{0.5f, 2} : std::vector<float>{0.5f, 2, -1, 1};
    std::vector<float> gradient(logits.size()), plain(logits.size());
    const double sum = LossSumAndGradient({loss, outputs, logits, labels, weights}, 1, gradient);
    (void)LossSumAndGradient({loss, outputs, logits, labels}, 1, plain);
    const auto first = static_cast<size_t>(outputs);
    const double alone =
        LossSum({loss, outputs, std::span(logits).first(first), std::span(labels).first(1)});
    EXPECT_DOUBLE_EQ(sum, 3 * alone);
    for (size_t i = 0; i < logits.size(); ++i) {
      EXPECT_FLOAT_EQ(gradient[i], i < first ? 3 * plain[i] : 0) << i;
    }
    EXPECT_EQ(LossSum({loss, outputs, logits, labels, none}),
              LossSum({loss, outputs, logits, labels}));
  }
}

TEST(LossTest, LogisticOfHugeLogitsIsLinearAndDoesNotOverflow) {
  const std::vector<float> logits = {1000, -1000}, labels = {0, 1};
  EXPECT_DOUBLE_EQ(LossSum({v1::LOSS_LOGISTIC, 1, logits, labels}), 2000);
}

TEST(LossTest, NotANumberIsNotHidden) {
  const std::vector<float> logits = {std::nanf("")}, labels = {0};
  EXPECT_TRUE(std::isnan(LossSum({v1::LOSS_LOGISTIC, 1, logits, labels})));
}

}  // namespace
}  // namespace capstan
