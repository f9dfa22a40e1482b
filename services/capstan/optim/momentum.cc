// Heavy-ball momentum, and Nesterov's variant of it: m = momentum * m + g;
// w -= rate * (nesterov ? g + momentum * m : m). One slot per weight: m, initially 0.
#include <memory>
#include <vector>

#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
#include "capstan/optim/slot_optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/momentum.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void MomentumKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
                    float rate) {
  const float momentum = spec.momentum();
  const bool nesterov = spec.nesterov();
  UpdateWeights(p, Shaping(spec), gradient, [&](auto d, size_t i, auto w, auto g) HWY_ATTR {
    const auto mu = hn::Set(d, momentum);
    const auto m = hn::Add(hn::Mul(mu, hn::LoadU(d, p.slots + i)), g);
    hn::StoreU(m, d, p.slots + i);
    const auto direction = nesterov ? hn::Add(g, hn::Mul(mu, m)) : m;
    return hn::Sub(w, hn::Mul(hn::Set(d, rate), direction));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan::momentum {
namespace {

using Spec = v1::OptimizerSpec;

HWY_EXPORT(MomentumKernel);

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 1}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(MomentumKernel)(arguments...);
  });
}

absl::Status Check(const Spec& spec) { return CheckFraction("momentum", spec.momentum()); }

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_MOMENTUM,
           .name = "momentum",
           .settings =
               SettingsOf({}, {Fraction("momentum", 0.9, &Spec::momentum, &Spec::set_momentum)}),
           .switches = {{.key = "nesterov", .set = &Spec::set_nesterov}},
           .check = Check,
           .make = Make}};
}

}  // namespace capstan::momentum
#endif  // HWY_ONCE
