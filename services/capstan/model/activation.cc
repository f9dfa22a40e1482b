#include "capstan/model/activation.h"

#include <cmath>
#include <numbers>

namespace capstan {
namespace {

constexpr float kLeak = 0.01f;

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float NormalDistribution(float x) {
  return 0.5f * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
}

float NormalDensity(float x) {
  return std::exp(-0.5f * x * x) * std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
}

float ValueAt(v1::Activation activation, float x) {
  switch (activation) {
    case v1::ACTIVATION_TANH:
      return std::tanh(x);
    case v1::ACTIVATION_SIGMOID:
      return Sigmoid(x);
    case v1::ACTIVATION_GELU:
      return x * NormalDistribution(x);
    case v1::ACTIVATION_SILU:
      return x * Sigmoid(x);
    case v1::ACTIVATION_LEAKY_RELU:
      return x > 0 ? x : kLeak * x;
    case v1::ACTIVATION_ELU:
      return x > 0 ? x : std::expm1(x);
    default:
      return x > 0 ? x : 0;
  }
}

float DerivativeAt(v1::Activation activation, float x) {
  switch (activation) {
    case v1::ACTIVATION_TANH: {
      const float y = std::tanh(x);
      return 1 - y * y;
    }
    case v1::ACTIVATION_SIGMOID: {
      const float y = Sigmoid(x);
      return y * (1 - y);
    }
    case v1::ACTIVATION_GELU:
      return NormalDistribution(x) + x * NormalDensity(x);
    case v1::ACTIVATION_SILU: {
      const float y = Sigmoid(x);
      return y * (1 + x * (1 - y));
    }
    case v1::ACTIVATION_LEAKY_RELU:
      return x > 0 ? 1 : kLeak;
    case v1::ACTIVATION_ELU:
      return x > 0 ? 1 : std::exp(x);
    default:
      return x > 0 ? 1 : 0;
  }
}

}  // namespace

void Activate(v1::Activation activation, const ConstMatrix& x, Matrix y) {
  y = x.unaryExpr([activation](float value) { return ValueAt(activation, value); });
}

void MultiplyByDerivative(v1::Activation activation, const ConstMatrix& x, Matrix gradient) {
  gradient.array() *=
      x.unaryExpr([activation](float value) { return DerivativeAt(activation, value); }).array();
}

}  // namespace capstan
