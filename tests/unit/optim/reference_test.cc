// Each optimizer against the rules as their papers state them, in float64 and formulated
// independently of the implementation: over the whole history instead of with running state.
#include <cmath>
#include <functional>
#include <map>

#include "capstan/optim/optimizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

using History = std::vector<double>;  // Gradients of one weight.

// The weight after the whole history, from its value before the last update.
using Rule = std::function<double(double w, const History& g)>;

double Rate() { return 0.05f; }
double SumOfSquares(const History& g) {
  double sum = 0;
  for (double value : g) sum += value * value;
  return sum;
}

// sum over k of (1 - rate) * rate^(age of k) * f(g[k]).
double Average(const History& g, double rate, const std::function<double(double)>& f) {
  double average = 0;
  for (size_t k = 0; k < g.size(); ++k) {
    average += (1 - rate) * std::pow(rate, g.size() - 1 - k) * f(g[k]);
  }
  return average;
}

double Same(double x) { return x; }
double Square(double x) { return x * x; }

double Velocity(const History& g, size_t updates) {
  double velocity = 0;
  for (size_t k = 0; k < updates; ++k) velocity += std::pow(double{0.9f}, updates - 1 - k) * g[k];
  return velocity;
}

double AdamRule(double w, const History& g) {
  const double m = Average(g, 0.9f, Same) / (1 - std::pow(double{0.9f}, g.size()));
  const double v = Average(g, 0.99f, Square) / (1 - std::pow(double{0.99f}, g.size()));
  return w - Rate() * m / (std::sqrt(v) + 1e-6f);
}

const std::map<std::string, Rule>& Rules() {
  static const auto* rules = new std::map<std::string, Rule>{
      {"Sgd", [](double w, const History& g) { return w - Rate() * g.back(); }},
      {"Momentum", [](double w, const History& g) { return w - Rate() * Velocity(g, g.size()); }},
      {"Nesterov",
       [](double w, const History& g) {
         return w - Rate() * (g.back() + 0.9f * Velocity(g, g.size()));
       }},
      {"Adagrad",
       [](double w, const History& g) {
         return w - Rate() * g.back() / (std::sqrt(0.1f + SumOfSquares(g)) + 1e-6f);
       }},
      {"Rmsprop",
       [](double w, const History& g) {
         return w - Rate() * g.back() / (std::sqrt(Average(g, 0.9f, Square)) + 1e-6f);
       }},
      {"Adam", AdamRule},
      {"Adamw", AdamRule}};
  return *rules;
}

class ReferenceTest : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceTest, FollowsTheRuleOverFortyUpdates) {
  const std::vector<NamedSpec> specs = AllSpecs();
  const auto named = std::find_if(specs.begin(), specs.end(),
                                  [](const NamedSpec& spec) { return spec.name == GetParam(); });
  const auto optimizer = *MakeOptimizer(named->spec);
  constexpr size_t kWidth = 21;
  OwnedParameters parameters(*optimizer, SomeFloats(kWidth, /*seed=*/1), Rate());
  std::vector<double> expected(parameters.weights.begin(), parameters.weights.end());
  std::vector<History> history(kWidth);
  for (int update = 0; update < 40; ++update) {
    const std::vector<float> gradient = SomeFloats(kWidth, /*seed=*/2 + update);
    optimizer->Apply(parameters.view(), gradient.data(), Rate());
    for (size_t i = 0; i < kWidth; ++i) {
      history[i].push_back(gradient[i]);
      expected[i] = Rules().at(GetParam())(expected[i], history[i]);
    }
  }
  for (size_t i = 0; i < kWidth; ++i) EXPECT_NEAR(parameters.weights[i], expected[i], 5e-6);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ReferenceTest,
                         testing::Values("Sgd", "Momentum", "Nesterov", "Adagrad", "Rmsprop",
                                         "Adam", "Adamw"),
                         [](const auto& info) { return info.param; });

TEST(RowwiseAdagradReferenceTest, DividesByTheRootOfTheSumOfMeanSquares) {
  const auto optimizer = *MakeOptimizer(PlainSpec(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD));
  constexpr size_t kWidth = 19;
  OwnedParameters parameters(*optimizer, SomeFloats(kWidth, /*seed=*/1), Rate());
  std::vector<double> expected(parameters.weights.begin(), parameters.weights.end());
  double sum = 0.1f;
  for (int update = 0; update < 40; ++update) {
    const std::vector<float> gradient = SomeFloats(kWidth, /*seed=*/2 + update);
    optimizer->Apply(parameters.view(), gradient.data(), Rate());
    sum += SumOfSquares(History(gradient.begin(), gradient.end())) / kWidth;
    for (size_t i = 0; i < kWidth; ++i) {
      expected[i] -= Rate() * gradient[i] / (std::sqrt(sum) + 1e-6f);
    }
  }
  for (size_t i = 0; i < kWidth; ++i) EXPECT_NEAR(parameters.weights[i], expected[i], 5e-6);
}

// What FTRL-proximal means: after each update w minimizes
//   w * sum(g) + 1/2 * sum_k(sigma_k * (w - w_k)^2) + l1 * |w| + l2 / 2 * w^2,
// where sum(sigma) to k is sqrt(n_k) / rate; the initial weight enters as if w_0 had been reached
// so.
TEST(FtrlReferenceTest, MinimizesTheRegularizedSumOfTheLinearizedLosses) {
  const v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_FTRL);
  const auto optimizer = *MakeOptimizer(spec);
  const double l1 = spec.l1(), l2 = spec.l2(), n0 = spec.initial_accumulator();
  OwnedParameters parameters(*optimizer, {0.4f, -0.7f, 0.0f, 0.01f}, Rate());
  for (size_t i = 0; i < parameters.weights.size(); ++i) {
    OwnedParameters one(*optimizer, {parameters.weights[i]}, Rate());
    const double w0 = one.weights[0];
    const double d0 = std::sqrt(n0) / Rate() + l2;
    double z = w0 == 0 ? 0 : -(w0 * d0 + std::copysign(l1, w0));
    double n = n0;
    for (int update = 0; update < 30; ++update) {
      const float g = SomeFloats(4, /*seed=*/2 + update)[i];
      const double sigma = (std::sqrt(n + double{g} * g) - std::sqrt(n)) / Rate();
      n += double{g} * g;
      z += g - sigma * one.weights[0];
      optimizer->Apply(one.view(), &g, Rate());
      const double w = one.weights[0];
      const double curvature = std::sqrt(n) / Rate() + l2;
      if (w != 0) {
        EXPECT_NEAR(z + curvature * w + std::copysign(l1, w), 0, 2e-4);  // The derivative at w.
      } else {
        EXPECT_LE(std::abs(z), l1 + 1e-5);  // 0 is in the subdifferential.
      }
    }
  }
}

TEST(FtrlReferenceTest, KeepsTheInitialWeightUnderAGradientOfZero) {
  const auto optimizer = *MakeOptimizer(PlainSpec(v1::OPTIMIZER_KIND_FTRL));
  OwnedParameters parameters(*optimizer, {0.4f, -0.7f, 0.0f}, Rate());
  const std::vector<float> zero(3);
  optimizer->Apply(parameters.view(), zero.data(), Rate());
  EXPECT_NEAR(parameters.weights[0], 0.4f, 1e-6);
  EXPECT_NEAR(parameters.weights[1], -0.7f, 1e-6);
  EXPECT_EQ(parameters.weights[2], 0);
}

TEST(FtrlReferenceTest, SetsWeightsOfWeakFeaturesToExactlyZero) {
  v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_FTRL);
  spec.set_l1(1);
  const auto optimizer = *MakeOptimizer(spec);
  OwnedParameters parameters(*optimizer, {0, 0}, Rate());
  const std::vector<float> gradient = {0.3f, 3.0f};
  for (int i = 0; i < 2; ++i) optimizer->Apply(parameters.view(), gradient.data(), Rate());
  EXPECT_EQ(parameters.weights[0], 0);
  EXPECT_LT(parameters.weights[1], -0.01f);
}

}  // namespace
}  // namespace capstan
