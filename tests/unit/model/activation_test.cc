#include "capstan/model/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace capstan {
namespace {

float ActivatedAt(v1::Activation activation, float x) {
  float y = 0;
  Activate(activation, MatrixAt(static_cast<const float*>(&x), 1, 1), MatrixAt(&y, 1, 1));
  return y;
}

float SlopeAt(v1::Activation activation, float x) {
  float gradient = 2;
  MultiplyByDerivative(activation, MatrixAt(static_cast<const float*>(&x), 1, 1),
                       MatrixAt(&gradient, 1, 1));
  return gradient / 2;
}

// By the functions' definitions: sigmoid(1) = .7310586, normal distribution(1) = .8413447 and its
// density .2419707.
TEST(ActivationTest, EachFunctionIsThatOfItsDefinition) {
  EXPECT_EQ(ActivatedAt(v1::ACTIVATION_UNSPECIFIED, 1), 1);
  EXPECT_EQ(ActivatedAt(v1::ACTIVATION_RELU, -1), 0);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_TANH, 1), 0.7615942, 1e-6);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_SIGMOID, -1), 0.2689414, 1e-6);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_GELU, 1), 0.8413447, 1e-6);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_GELU, -1), -0.1586553, 1e-6);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_SILU, -1), -0.2689414, 1e-6);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_LEAKY_RELU, -2), -0.02, 1e-8);
  EXPECT_NEAR(ActivatedAt(v1::ACTIVATION_ELU, -1), -0.6321206, 1e-6);
  EXPECT_EQ(ActivatedAt(v1::ACTIVATION_ELU, 3), 3);
}

TEST(ActivationTest, EachSlopeIsThatOfItsDefinition) {
  EXPECT_EQ(SlopeAt(v1::ACTIVATION_RELU, 1), 1);
  EXPECT_EQ(SlopeAt(v1::ACTIVATION_RELU, 0), 0);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_TANH, 1), 0.4199743, 1e-6);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_SIGMOID, 1), 0.1966119, 1e-6);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_GELU, 1), 0.8413447 + 0.2419707, 1e-6);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_SILU, 1), 0.7310586 * (1 + 0.2689414), 1e-6);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_LEAKY_RELU, -1), 0.01, 1e-8);
  EXPECT_NEAR(SlopeAt(v1::ACTIVATION_ELU, -1), 0.3678794, 1e-6);
}

TEST(ActivationTest, FarFromZeroNothingBecomesNaN) {
  for (const v1::Activation activation :
       {v1::ACTIVATION_RELU, v1::ACTIVATION_TANH, v1::ACTIVATION_SIGMOID, v1::ACTIVATION_GELU,
        v1::ACTIVATION_SILU, v1::ACTIVATION_LEAKY_RELU, v1::ACTIVATION_ELU}) {
    for (const float x : {-1e30F, -200.0F, 200.0F, 1e18F}) {
      EXPECT_TRUE(std::isfinite(ActivatedAt(activation, x))) << activation << " " << x;
      EXPECT_TRUE(std::isfinite(SlopeAt(activation, x))) << activation << " " << x;
    }
  }
  EXPECT_TRUE(std::isnan(ActivatedAt(v1::ACTIVATION_TANH, std::nanf(""))))
      << "what is NaN stays so, for a worker to notice";
}

TEST(ActivationTest, InputAndOutputMayBeOneMatrixWithRowsFarApart) {
  std::vector<float> memory = {-1, 2, 77, 3, -4, 77};
  const Matrix matrix(memory.data(), 2, 2, Eigen::OuterStride<>(3));
  Activate(v1::ACTIVATION_RELU, Const(matrix), matrix);
  EXPECT_EQ(memory, (std::vector<float>{0, 2, 77, 3, 0, 77}));
}

}  // namespace
}  // namespace capstan
