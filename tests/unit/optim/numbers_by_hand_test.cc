// Two updates of one weight, computed by hand.
#include <bit>
#include <cstdint>
#include <vector>

#include "capstan/optim/optimizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

// w from 1 with slots as initialized; gradients 2, then -1; rate 0.5.
std::vector<float> TwoUpdates(const v1::OptimizerSpec& spec) {
  const auto optimizer = *MakeOptimizer(spec);
  float w = 1;
  std::vector<float> slots(optimizer->SlotCount(1));
  const Parameters parameters{&w, slots.data(), 1};
  optimizer->Initialize(parameters, 0.5f);
  std::vector<float> weights;
  for (float gradient : {2.0f, -1.0f}) {
    optimizer->Apply(parameters, &gradient, 0.5f);
    weights.push_back(w);
  }
  return weights;
}

v1::OptimizerSpec Spec(v1::OptimizerKind kind) {
  v1::OptimizerSpec spec;
  spec.set_kind(kind);
  spec.set_learning_rate(0.5f);
  return spec;
}

testing::Matcher<std::vector<float>> Are(float first, float second) {
  return testing::ElementsAre(testing::FloatNear(first, 1e-6), testing::FloatNear(second, 1e-6));
}

TEST(NumbersByHandTest, Sgd) {
  EXPECT_THAT(TwoUpdates(Spec(v1::OPTIMIZER_KIND_SGD)), Are(0, 0.5f));
}

TEST(NumbersByHandTest, SgdWithWeightDecayAndClipping) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_SGD);
  spec.set_weight_decay(0.1f);
  spec.set_clip_value(1.5f);
  // 1 - .5 * (1.5 + .1); .2 - .5 * (-1 + .02).
  EXPECT_THAT(TwoUpdates(spec), Are(0.2f, 0.69f));
}

TEST(NumbersByHandTest, RunningAddsIncrementsWhateverRateDecayAndClippingSay) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_RUNNING);
  spec.set_weight_decay(0.1f);
  spec.set_clip_value(0.5f);
  // 1 - 2 + 1; 1 is added and taken away in turn.
  EXPECT_THAT(TwoUpdates(spec), Are(-1, 0));
}

TEST(NumbersByHandTest, Momentum) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_MOMENTUM);
  spec.set_momentum(0.5f);
  // m = 2; m = 1 - 1 = 0.
  EXPECT_THAT(TwoUpdates(spec), Are(0, 0));
}

TEST(NumbersByHandTest, Nesterov) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_MOMENTUM);
  spec.set_momentum(0.5f);
  spec.set_nesterov(true);
  // 1 - .5 * (2 + 1); -.5 - .5 * (-1 + 0).
  EXPECT_THAT(TwoUpdates(spec), Are(-0.5f, 0));
}

TEST(NumbersByHandTest, Adagrad) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_ADAGRAD);
  spec.set_initial_accumulator(5);
  spec.set_epsilon(1);
  // sum 9: 1 - .5 * 2 / (3 + 1); sum 10: .75 + .5 / (3.16227766 + 1).
  EXPECT_THAT(TwoUpdates(spec), Are(0.75f, 0.870127f));
}

TEST(NumbersByHandTest, Rmsprop) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_RMSPROP);
  spec.set_decay(0.75f);
  spec.set_epsilon(1);
  // v = 1: 1 - .5 * 2 / 2; v = .75 + .25 = 1: .5 + .5 / 2.
  EXPECT_THAT(TwoUpdates(spec), Are(0.5f, 0.75f));
}

TEST(NumbersByHandTest, Adam) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_ADAM);
  spec.set_beta1(0.5f);
  spec.set_beta2(0.75f);
  spec.set_epsilon(1);
  // t=1: m^ = 2, v^ = 4: 1 - .5 * 2 / 3. t=2: m = 0: stays.
  EXPECT_THAT(TwoUpdates(spec), Are(2.0f / 3, 2.0f / 3));
}

// The counter of the updates, the last of the slots, is an unsigned number of 32 bits.
TEST(NumbersByHandTest, AdamCountsTo2To32AndStaysThere) {
  for (const v1::OptimizerKind kind : {v1::OPTIMIZER_KIND_ADAM, v1::OPTIMIZER_KIND_ADAMW}) {
    v1::OptimizerSpec spec = Spec(kind);
    spec.set_beta1(0.9f);
    spec.set_beta2(0.999f);
    spec.set_epsilon(1e-8f);
    const auto optimizer = *MakeOptimizer(spec);
    for (const uint32_t before :
         {0x7FFFFFFEu, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFEu, 0xFFFFFFFFu}) {
      float w = 1;
      // A mean of 1 and a mean square of 1, which a gradient of 1 leaves as they are.
      std::vector<float> slots = {1, 1, std::bit_cast<float>(before)};
      const float gradient = 1;
      optimizer->Apply({&w, slots.data(), 1}, &gradient, 0.5f);
      EXPECT_NEAR(w, 0.5f, 1e-6) << "the corrections of the beginning are over, " << before;
      EXPECT_EQ(std::bit_cast<uint32_t>(slots[2]), before == 0xFFFFFFFFu ? before : before + 1);
    }
  }
}

TEST(NumbersByHandTest, AdamW) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_ADAMW);
  spec.set_beta1(0.5f);
  spec.set_beta2(0.75f);
  spec.set_epsilon(1);
  spec.set_weight_decay(0.2f);
  // .9 - 1/3; .9 of it.
  EXPECT_THAT(TwoUpdates(spec), Are(17.0f / 30, 0.51f));
}

TEST(NumbersByHandTest, Ftrl) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_FTRL);
  spec.set_learning_rate_power(-0.5f);
  spec.set_l1(1);
  spec.set_l2(1);
  // z = -(0 + 1) - 1 * l2 = -2 at first. n = 4, sigma = 4: z = -2 + 2 - 4 = -4: w = 3 / (4 + 1).
  // n = 5, sigma = .472136: z = -4 - 1 - .283282 = -5.283282: w = 4.283282 / (4.472136 + 1).
  EXPECT_THAT(TwoUpdates(spec), Are(0.6f, 0.782744f));
}

TEST(NumbersByHandTest, RowwiseAdagradSharesOneAccumulator) {
  v1::OptimizerSpec spec = Spec(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD);
  spec.set_initial_accumulator(4);
  const auto optimizer = *MakeOptimizer(spec);
  std::vector<float> w = {1, 1}, slots(1);
  const Parameters parameters{w.data(), slots.data(), 2};
  optimizer->Initialize(parameters, 0.5f);
  const std::vector<float> gradient = {1, 3};  // Mean square 5: sum 9.
  optimizer->Apply(parameters, gradient.data(), 0.5f);
  EXPECT_THAT(w, Are(1 - 0.5f / 3, 0.5f));
}

}  // namespace
}  // namespace capstan
