// FTRL's thresholds and its beginning; two whole updates are in numbers_by_hand_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "capstan/optim/optimizer.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr float kRate = 0.5f;

class FtrlTest : public testing::Test {
 protected:
  FtrlTest() {
    spec_.set_kind(v1::OPTIMIZER_KIND_FTRL);
    spec_.set_learning_rate(kRate);
    spec_.set_learning_rate_power(-0.5f);
    spec_.set_l1(1);
  }

  std::unique_ptr<Optimizer> Make() const { return *MakeOptimizer(spec_); }
  std::string WhyRefused() const { return std::string(MakeOptimizer(spec_).status().message()); }

  v1::OptimizerSpec spec_;
};

TEST_F(FtrlTest, TheInitialWeightIsWhatTheRuleGives) {
  spec_.set_initial_accumulator(0.25f);
  spec_.set_l2(2);
  const auto ftrl = Make();
  OwnedParameters parameters(*ftrl, {3, -2, 0.125f, 0}, kRate);
  // z is -(w * (.5 / .5 + 2) + sign(w)).
  EXPECT_THAT(parameters.slots, ElementsAre(0.25f, 0.25f, 0.25f, 0.25f, -10, 7, -1.375f, 0));
  const std::vector<float> zero(4);
  ftrl->Apply(parameters.view(), zero.data(), kRate);
  EXPECT_THAT(parameters.weights,
              ElementsAre(FloatNear(3, 1e-6f), FloatNear(-2, 1e-6f), FloatNear(0.125f, 1e-6f), 0));
}

TEST_F(FtrlTest, AWeightStaysExactlyZeroUpToL1) {
  const auto ftrl = Make();
  OwnedParameters parameters(*ftrl, {0, 0, 0}, kRate);
  std::vector<float> gradient = {0.9f, 1, -1};
  ftrl->Apply(parameters.view(), gradient.data(), kRate);
  EXPECT_THAT(parameters.weights, ElementsAre(0, 0, 0)) << "l1 itself is not beyond";
  ftrl->Apply(parameters.view(), gradient.data(), kRate);
  // z = 1.8: -(1.8 - 1) / (sqrt(1.62) / .5); z = 2 and -2: 1 / (sqrt(2) / .5).
  EXPECT_THAT(parameters.weights,
              ElementsAre(FloatNear(-0.314270f, 1e-6f), FloatNear(-0.353553f, 1e-6f),
                          FloatNear(0.353553f, 1e-6f)));
}

TEST_F(FtrlTest, AWeightThatHadNoGradientYetDividesByNothing) {
  spec_.set_l1(0);
  const auto ftrl = Make();
  OwnedParameters parameters(*ftrl, {0}, kRate);
  const float zero = 0;
  ftrl->Apply(parameters.view(), &zero, kRate);
  EXPECT_EQ(parameters.weights[0], 0);
}

TEST_F(FtrlTest, AnInitialWeightStaysUntilAGradientSaysOtherwise) {
  for (const float l1 : {0.0f, 0.25f}) {
    spec_.set_l1(l1);  // Neither l2 nor an initial accumulator.
    const auto ftrl = Make();
    OwnedParameters parameters(*ftrl, {3, -2, 0.125f, 0, 1}, kRate);
    const std::vector<float> zero(5);
    ftrl->Apply(parameters.view(), zero.data(), kRate);
    EXPECT_THAT(parameters.weights, ElementsAre(3, -2, 0.125f, 0, 1)) << l1;
    const std::vector<float> gradient = {1, 1, 1, 1, 1};
    ftrl->Apply(parameters.view(), gradient.data(), kRate);
    OwnedParameters at_once(*ftrl, {3, -2, 0.125f, 0, 1}, kRate);
    ftrl->Apply(at_once.view(), gradient.data(), kRate);
    EXPECT_EQ(parameters.weights, at_once.weights) << "the gradient of 0 has left nothing behind";
  }
}

TEST_F(FtrlTest, AGradientWhoseSquareIsNoFloatMakesNoInfinity) {
  spec_.set_l1(0);
  const auto ftrl = Make();
  OwnedParameters parameters(*ftrl, {0, 0, 0.5f, -0.5f, 0}, kRate);
  const std::vector<float> tiny = {1e-30f, -1e-30f, 1e-30f, -1e-30f, 1e-30f};
  ftrl->Apply(parameters.view(), tiny.data(), kRate);
  EXPECT_THAT(parameters.weights, ElementsAre(0, 0, 0.5f, -0.5f, 0));
}

TEST_F(FtrlTest, ImpossibleSettingsAreRefusedByName) {
  spec_.set_l1(-1);
  EXPECT_EQ(WhyRefused(), "optimizer: l1 is -1, expected a number >= 0");
  spec_.set_l1(0);
  spec_.set_l2(NAN);
  EXPECT_EQ(WhyRefused(), "optimizer: l2 is nan, expected a number >= 0");
  spec_.set_l2(0);
  spec_.set_learning_rate(0);
  EXPECT_EQ(WhyRefused(), "optimizer: learning_rate is 0, expected a number > 0");
  spec_.set_learning_rate(1);
  spec_.set_learning_rate_power(-1);
  EXPECT_EQ(WhyRefused(), "optimizer: learning_rate_power is -1, expected -0.5");
}

TEST_F(FtrlTest, TheRateIsPartOfTheStateAndFollowsNoSchedule) {
  spec_.mutable_schedule()->set_warmup_examples(1);
  EXPECT_EQ(WhyRefused(), "optimizer: ftrl cannot follow a learning-rate schedule");
}

}  // namespace
}  // namespace capstan
