#include "capstan/optim/adam_step.h"

#include <cmath>

namespace capstan {
namespace {

// base^exponent by squaring: unlike std::pow, it is bit-equal for every C library and machine.
double Power(double base, uint32_t exponent) {
  double power = 1;
  for (; exponent != 0 && base > 0x1p-200; exponent >>= 1, base *= base) {
    if (exponent & 1) power *= base;
  }
  return exponent == 0 ? power : 0;
}

}  // namespace

AdamStep::AdamStep(const v1::OptimizerSpec& spec, uint32_t t, float learning_rate)
    : shaping(spec),
      beta1(spec.beta1()),
      beta2(spec.beta2()),
      epsilon(spec.epsilon()),
      rate(static_cast<float>(learning_rate / (1 - Power(spec.beta1(), t)))),
      root_scale(static_cast<float>(1 / std::sqrt(1 - Power(spec.beta2(), t)))),
      keep(spec.kind() == v1::OPTIMIZER_KIND_ADAMW ? 1 - learning_rate * spec.weight_decay() : 1) {}

}  // namespace capstan
