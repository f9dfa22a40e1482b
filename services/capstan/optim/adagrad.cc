// Adagrad (Duchi et al., 2011): sum += g * g; w -= rate * g / (sqrt(sum) + epsilon). One slot per
// weight: sum, initially initial_accumulator.
#include <memory>
#include <vector>

#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
#include "capstan/optim/slot_optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/adagrad.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void AdagradKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
                   float rate) {
  const float epsilon = spec.epsilon();
  UpdateWeights(p, Shaping(spec), gradient, [&](auto d, size_t i, auto w, auto g) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, p.slots + i), hn::Mul(g, g));
    hn::StoreU(sum, d, p.slots + i);
    const auto root = hn::Add(hn::Sqrt(sum), hn::Set(d, epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, rate), g), root);
    return hn::Sub(w, change);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan::adagrad {
namespace {

HWY_EXPORT(AdagradKernel);

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 1, .initial = spec.initial_accumulator()},
                          [](const auto&... arguments) {
                            HWY_DYNAMIC_DISPATCH(AdagradKernel)(arguments...);
                          });
}

absl::Status Check(const v1::OptimizerSpec& spec) {
  return CheckDivisor(spec, spec.initial_accumulator());
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_ADAGRAD,
           .name = "adagrad",
           .settings = SettingsOf({.learning_rate = 0.05}, {Epsilon(1e-10), InitialAccumulator()}),
           .check = Check,
           .make = Make}};
}

}  // namespace capstan::adagrad
#endif  // HWY_ONCE
