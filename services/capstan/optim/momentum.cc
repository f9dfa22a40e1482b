#include "capstan/optim/momentum.h"

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
namespace capstan {

HWY_EXPORT(MomentumKernel);

std::unique_ptr<Optimizer> MakeMomentum(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 1}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(MomentumKernel)(arguments...);
  });
}

}  // namespace capstan
#endif  // HWY_ONCE
