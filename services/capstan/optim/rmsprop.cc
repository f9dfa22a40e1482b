#include "capstan/optim/rmsprop.h"

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
namespace capstan {

HWY_EXPORT(RmspropKernel);

std::unique_ptr<Optimizer> MakeRmsprop(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 1}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(RmspropKernel)(arguments...);
  });
}

}  // namespace capstan
#endif  // HWY_ONCE
