// RMSProp (Hinton, 2012), without momentum: v = decay * v + (1 - decay) * g * g;
// w -= rate * g / (sqrt(v) + epsilon). One slot per weight: v, initially 0.
#include <memory>
#include <vector>

#include "capstan/base/status.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
#include "capstan/optim/slot_optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/rmsprop.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void RmspropKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
                   float rate) {
  const float decay = spec.decay();
  const float epsilon = spec.epsilon();
  UpdateWeights(p, Shaping(spec), gradient, [&](auto d, size_t i, auto w, auto g) HWY_ATTR {
    const auto kept = hn::Mul(hn::Set(d, decay), hn::LoadU(d, p.slots + i));
    const auto v = hn::Add(kept, hn::Mul(hn::Set(d, 1.0f - decay), hn::Mul(g, g)));
    hn::StoreU(v, d, p.slots + i);
    const auto root = hn::Add(hn::Sqrt(v), hn::Set(d, epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, rate), g), root);
    return hn::Sub(w, change);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan::rmsprop {
namespace {

using Spec = v1::OptimizerSpec;

HWY_EXPORT(RmspropKernel);

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 1}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(RmspropKernel)(arguments...);
  });
}

absl::Status Check(const Spec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("decay", spec.decay()));
  return CheckDivisor(spec, /*accumulator=*/0);
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_RMSPROP,
           .name = "rmsprop",
           .settings =
               SettingsOf({.learning_rate = 0.001},
                          {Fraction("decay", 0.9, &Spec::decay, &Spec::set_decay), Epsilon(1e-8)}),
           .check = Check,
           .make = Make}};
}

}  // namespace capstan::rmsprop
#endif  // HWY_ONCE
