// The update rules once more, an element at a time in plain C++, with the operations of the SIMD
// kernels in their order (for T = float the bits must agree), and over double as a reference.
#ifndef CAPSTAN_TESTS_UNIT_OPTIM_SCALAR_TWIN_H_
#define CAPSTAN_TESTS_UNIT_OPTIM_SCALAR_TWIN_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

template <typename T>
class ScalarTwin {
 public:
  ScalarTwin(const v1::OptimizerSpec& spec, const std::vector<float>& initial, float rate)
      : spec_(spec), weights(initial.begin(), initial.end()) {
    const size_t n = initial.size();
    const bool accumulates = spec.kind() == v1::OPTIMIZER_KIND_ADAGRAD ||
                             spec.kind() == v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD ||
                             spec.kind() == v1::OPTIMIZER_KIND_FTRL;
    first_.assign(n, accumulates ? spec.initial_accumulator() : 0);
    second_.assign(n, 0);
    if (spec.kind() != v1::OPTIMIZER_KIND_FTRL) return;
    const T divisor = std::sqrt(first_[0]) / T(rate) + T(spec.l2());
    for (size_t i = 0; i < n; ++i) {
      if (weights[i] == 0) continue;
      second_[i] = -(weights[i] * divisor + std::copysign(T(spec.l1()), weights[i]));
    }
  }

  void Apply(const std::vector<float>& gradient, float rate_given) {
    const T rate = rate_given;
    ++step_;
    if (spec_.kind() == v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD) return ApplyRowwise(gradient, rate);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] =
          Updated(weights[i], Shaped(gradient[i], weights[i]), rate, first_[i], second_[i]);
    }
  }

 private:
  const v1::OptimizerSpec spec_;

 public:
  std::vector<T> weights;

 private:
  T Shaped(T g, T w) const {
    const T clip =
        spec_.clip_value() > 0 ? T(spec_.clip_value()) : std::numeric_limits<T>::infinity();
    const bool decoupled = spec_.kind() == v1::OPTIMIZER_KIND_ADAMW;
    return std::min(std::max(g, -clip), clip) + T(decoupled ? 0 : spec_.weight_decay()) * w;
  }

  T Updated(T w, T g, T rate, T& a, T& b) const {
    switch (spec_.kind()) {
      case v1::OPTIMIZER_KIND_SGD:
        return w - rate * g;
      case v1::OPTIMIZER_KIND_RUNNING:
        return w - g;
      case v1::OPTIMIZER_KIND_MOMENTUM:
        a = T(spec_.momentum()) * a + g;
        return w - rate * (spec_.nesterov() ? g + T(spec_.momentum()) * a : a);
      case v1::OPTIMIZER_KIND_ADAGRAD:
        a += g * g;
        return w - rate * g / (std::sqrt(a) + T(spec_.epsilon()));
      case v1::OPTIMIZER_KIND_RMSPROP:
        a = T(spec_.decay()) * a + (1 - T(spec_.decay())) * (g * g);
        return w - rate * g / (std::sqrt(a) + T(spec_.epsilon()));
      case v1::OPTIMIZER_KIND_FTRL:
        return Ftrl(w, g, rate, a, b);
      default:
        return Adam(w, g, rate, a, b);
    }
  }

  T Adam(T w, T g, T rate, T& m, T& v) const {
    const T beta1 = spec_.beta1();
    const T beta2 = spec_.beta2();
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * (g * g);
    const T scaled_rate = rate / (1 - std::pow(double{spec_.beta1()}, step_));
    const T root_scale = 1 / std::sqrt(1 - std::pow(double{spec_.beta2()}, step_));
    const bool decoupled = spec_.kind() == v1::OPTIMIZER_KIND_ADAMW;
    const T keep = decoupled ? 1 - rate * T(spec_.weight_decay()) : T(1);
    return keep * w - scaled_rate * m / (std::sqrt(v) * root_scale + T(spec_.epsilon()));
  }

  T Ftrl(T w, T g, T rate, T& n, T& z) const {
    const T inverse = 1 / rate;
    const T before = std::sqrt(n);
    n += g * g;
    const T root = std::sqrt(n);
    z += g - (root - before) * inverse * w;
    const T l1 = spec_.l1();
    const T divisor = root * inverse + T(spec_.l2());
    if (divisor == 0) return w;
    if (std::abs(z) <= l1) return 0;
    return -((z - std::copysign(l1, z)) / divisor);
  }

  void ApplyRowwise(const std::vector<float>& gradient, T rate) {
    T partial[4] = {};
    for (size_t i = 0; i < weights.size(); ++i) {
      const T g = Shaped(gradient[i], weights[i]);
      partial[i % 4] += g * g;
    }
    const T sum = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    first_[0] += sum / static_cast<T>(weights.size());
    const T row_rate = rate / (std::sqrt(first_[0]) + T(spec_.epsilon()));
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= row_rate * Shaped(gradient[i], weights[i]);
    }
  }

  std::vector<T> first_;
  std::vector<T> second_;
  int step_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_OPTIM_SCALAR_TWIN_H_
