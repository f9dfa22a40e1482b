// Momentum from its beginning; two whole updates are in numbers_by_hand_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "capstan/optim/optimizer.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

class MomentumTest : public testing::Test {
 protected:
  MomentumTest() {
    spec_.set_kind(v1::OPTIMIZER_KIND_MOMENTUM);
    spec_.set_momentum(0.5f);
  }
  // The weight, from 1, after each of the gradients, with rate 1.
  std::vector<float> Weights(const std::vector<float>& gradients) const {
    const auto momentum = *MakeOptimizer(spec_);
    OwnedParameters parameters(*momentum, {1}, /*learning_rate=*/1);
    std::vector<float> weights;
    for (const float gradient : gradients) {
      momentum->Apply(parameters.view(), &gradient, /*learning_rate=*/1);
      weights.push_back(parameters.weights[0]);
    }
    return weights;
  }

  v1::OptimizerSpec spec_;
};

TEST_F(MomentumTest, TheVelocityCarriesOnWithoutGradientsAndFades) {
  EXPECT_THAT(Weights({4, 0, 0}), ElementsAre(-3, -5, -6));
}

TEST_F(MomentumTest, NesterovTakesTheNextStepOfTheVelocityInAdvance) {
  spec_.set_nesterov(true);
  // m = 4: 4 + 2; m = 2: 0 + 1; m = 1: 0 + .5.
  EXPECT_THAT(Weights({4, 0, 0}), ElementsAre(-5, -6, -6.5f));
}

TEST_F(MomentumTest, WithoutMomentumItIsPlainDescent) {
  spec_.set_momentum(0);
  EXPECT_THAT(Weights({4, 0, -1}), ElementsAre(-3, -3, -2));
}

TEST_F(MomentumTest, WeightDecayIsPartOfTheVelocity) {
  spec_.set_weight_decay(0.5f);
  // g = 0 + .5 * 1: m = .5; then g = .25: m = .25 + .25.
  EXPECT_THAT(Weights({0, 0}), ElementsAre(0.5f, 0));
}

TEST_F(MomentumTest, AVelocityThatNeverFadesIsRefused) {
  for (const float momentum : {1.0f, -0.5f}) {
    spec_.set_momentum(momentum);
    EXPECT_TRUE(absl::IsInvalidArgument(MakeOptimizer(spec_).status())) << momentum;
  }
  spec_.set_momentum(1);
  EXPECT_EQ(MakeOptimizer(spec_).status().message(),
            "optimizer: momentum is 1, expected a number in [0, 1)");
}

}  // namespace
}  // namespace capstan
