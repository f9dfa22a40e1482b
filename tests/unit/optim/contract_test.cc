// What every optimizer promises: a new one is tried as soon as it is described.
#include <cmath>
#include <limits>

#include "capstan/optim/optimizer.h"
#include "capstan/optim/optimizer_description.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

std::vector<NamedSpec> SpecsThat(bool (*wanted)(const v1::OptimizerSpec&)) {
  std::vector<NamedSpec> specs = AllSpecs();
  std::erase_if(specs, [wanted](const NamedSpec& named) { return !wanted(named.spec); });
  return specs;
}

class OptimizerContractTest : public testing::TestWithParam<NamedSpec> {
 protected:
  const v1::OptimizerSpec& spec() const { return GetParam().spec; }
  const std::unique_ptr<Optimizer> optimizer_ = *MakeOptimizer(GetParam().spec);
};

TEST_P(OptimizerContractTest, DescendsTheGradientOfAParabola) {
  OwnedParameters parameters(*optimizer_, {3, -2, 0.5f, 1, 1}, spec().learning_rate());
  const auto loss = [&] {
    double sum = 0;
    for (float w : parameters.weights) sum += w * w / 2;
    return sum;
  };
  const double before = loss();
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> gradient = parameters.weights;
    optimizer_->Apply(parameters.view(), gradient.data(), spec().learning_rate());
  }
  EXPECT_LT(loss(), before / 2);
}

TEST_P(OptimizerContractTest, WritesNothingBesideItsWeightsAndSlots) {
  constexpr float kGuard = 77;
  for (size_t width : {1, 3, 4, 16, 17, 33}) {
    const size_t slots = optimizer_->SlotCount(width);
    std::vector<float> memory(width + slots + 3, kGuard);
    const Parameters parameters{memory.data() + 1, memory.data() + width + 2, width};
    std::fill_n(parameters.weights, width, 0.5f);
    optimizer_->Initialize(parameters, 0.1f);
    optimizer_->Apply(parameters, SomeFloats(width, 1).data(), 0.1f);
    EXPECT_EQ(memory[0], kGuard);
    EXPECT_EQ(memory[width + 1], kGuard);
    EXPECT_EQ(memory.back(), kGuard);
  }
}

TEST_P(OptimizerContractTest, KeepsAllItsStateInTheSlots) {
  OwnedParameters once(*optimizer_, SomeFloats(20, 1), 0.1f);
  optimizer_->Apply(once.view(), SomeFloats(20, 2).data(), 0.1f);
  OwnedParameters copy = once;
  const auto another = *MakeOptimizer(spec());
  optimizer_->Apply(once.view(), SomeFloats(20, 3).data(), 0.1f);
  another->Apply(copy.view(), SomeFloats(20, 3).data(), 0.1f);
  EXPECT_EQ(once.weights, copy.weights);
}

TEST_P(OptimizerContractTest, StaysFiniteUnderAGradientOfZero) {
  OwnedParameters parameters(*optimizer_, {0, 1, -1}, 0.1f);
  const std::vector<float> zero(3);
  for (int i = 0; i < 3; ++i) optimizer_->Apply(parameters.view(), zero.data(), 0.1f);
  for (float w : parameters.weights) EXPECT_TRUE(std::isfinite(w));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerContractTest, testing::ValuesIn(AllSpecs()),
                         [](const auto& info) { return info.param.name; });

class ElementwiseOptimizerTest : public OptimizerContractTest {};

TEST_P(ElementwiseOptimizerTest, ChangesEachWeightByItsOwnGradientAlone) {
  const std::vector<float> initial = SomeFloats(33, 1), gradient = SomeFloats(33, 2);
  OwnedParameters all(*optimizer_, initial, 0.1f);
  optimizer_->Apply(all.view(), gradient.data(), 0.1f);
  for (size_t i = 0; i < initial.size(); ++i) {
    OwnedParameters one(*optimizer_, {initial[i]}, 0.1f);
    optimizer_->Apply(one.view(), &gradient[i], 0.1f);
    EXPECT_EQ(one.weights[0], all.weights[i]);
  }
}

// Whatever becomes of a weight whose sums are no longer finite.
TEST_P(ElementwiseOptimizerTest, AnOverflowStaysInItsWeight) {
  std::vector<float> gradient = SomeFloats(33, 2);
  OwnedParameters honest(*optimizer_, SomeFloats(33, 1), 0.1f);
  OwnedParameters hit = honest;
  for (int i = 0; i < 3; ++i) {
    optimizer_->Apply(honest.view(), gradient.data(), 0.1f);
    gradient[7] = std::numeric_limits<float>::max();
    optimizer_->Apply(hit.view(), gradient.data(), 0.1f);
    gradient[7] = 1;
  }
  hit.weights[7] = honest.weights[7];
  EXPECT_EQ(hit.weights, honest.weights);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ElementwiseOptimizerTest,
                         testing::ValuesIn(SpecsThat([](const v1::OptimizerSpec& spec) {
                           return !FindOptimizer(spec.kind())->by_row;
                         })),
                         [](const auto& info) { return info.param.name; });

class ClippingOptimizerTest : public OptimizerContractTest {};

TEST_P(ClippingOptimizerTest, TakesNoElementOfTheGradientBeyondTheLimit) {
  OwnedParameters huge(*optimizer_, SomeFloats(20, 1), 0.1f);
  OwnedParameters clipped = huge;
  const std::vector<float> gradient(20, 1e6f), limit(20, spec().clip_value());
  optimizer_->Apply(huge.view(), gradient.data(), 0.1f);
  optimizer_->Apply(clipped.view(), limit.data(), 0.1f);
  EXPECT_EQ(huge.weights, clipped.weights);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ClippingOptimizerTest,
                         testing::ValuesIn(SpecsThat([](const v1::OptimizerSpec& spec) {
                           return spec.clip_value() > 0;
                         })),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace capstan
