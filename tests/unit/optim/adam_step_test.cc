// What one update of Adam has in common for all elements, by the number of updates.
#include "capstan/optim/adam_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace capstan {
namespace {

constexpr float kAdamRate = 0.25f;

class AdamStepTest : public testing::Test {
 protected:
  AdamStepTest() {
    spec_.set_kind(v1::OPTIMIZER_KIND_ADAM);
    spec_.set_beta1(0.5f);
    spec_.set_beta2(0.75f);
    spec_.set_epsilon(1e-8f);
  }

  v1::OptimizerSpec spec_;
};

TEST_F(AdamStepTest, TheFirstUpdateIsCorrectedForAMeanOfOneGradient) {
  const AdamStep step(spec_, 1, kAdamRate);
  EXPECT_EQ(step.rate, 0.5f) << ".25 / (1 - .5)";
  EXPECT_EQ(step.root_scale, 2) << "1 / sqrt(1 - .75)";
  EXPECT_EQ(step.beta1, 0.5f);
  EXPECT_EQ(step.beta2, 0.75f);
  EXPECT_EQ(step.epsilon, 1e-8f);
}

TEST_F(AdamStepTest, TheThirdUpdateIsCorrectedByTheThirdPowers) {
  const AdamStep step(spec_, 3, kAdamRate);
  EXPECT_FLOAT_EQ(step.rate, 0.25f / 0.875f);
  EXPECT_FLOAT_EQ(step.root_scale, static_cast<float>(1 / std::sqrt(0.578125)));
}

TEST_F(AdamStepTest, AfterManyUpdatesThereIsNothingToCorrect) {
  spec_.set_beta1(0.9f);
  spec_.set_beta2(0.999f);
  for (const uint32_t t : {100'000u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    const AdamStep step(spec_, t, kAdamRate);
    EXPECT_EQ(step.rate, kAdamRate) << t;
    EXPECT_EQ(step.root_scale, 1) << t;
  }
}

// 8,388,608 updates of a beta that is less than one by as small a part.
TEST_F(AdamStepTest, ABetaNextToOneIsCorrectedForLong) {
  spec_.set_beta2(1 - 0x1p-23f);
  const AdamStep step(spec_, uint32_t{1} << 23, kAdamRate);
  const double e = std::exp(1.0);  // (1 - 1/n)^n is about 1 / e.
  EXPECT_NEAR(step.root_scale, 1 / std::sqrt(1 - 1 / e), 1e-6);
}

TEST_F(AdamStepTest, BetasOfZeroNeedNoCorrection) {
  spec_.set_beta1(0);
  spec_.set_beta2(0);
  const AdamStep step(spec_, 1, kAdamRate);
  EXPECT_EQ(step.rate, kAdamRate);
  EXPECT_EQ(step.root_scale, 1);
}

TEST_F(AdamStepTest, WeightDecayIsInTheGradientOfAdamAndBesideThatOfAdamW) {
  spec_.set_weight_decay(0.5f);
  const AdamStep adam(spec_, 1, kAdamRate);
  EXPECT_EQ(adam.keep, 1);
  EXPECT_EQ(adam.shaping.decay, 0.5f);
  spec_.set_kind(v1::OPTIMIZER_KIND_ADAMW);
  const AdamStep adamw(spec_, 1, kAdamRate);
  EXPECT_EQ(adamw.keep, 0.875f) << "1 - .25 * .5";
  EXPECT_EQ(adamw.shaping.decay, 0);
}

}  // namespace
}  // namespace capstan
