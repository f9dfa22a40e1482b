#include "capstan/optim/sgd.h"

#include "capstan/optim/slot_optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/sgd.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void SgdKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
               float rate) {
  UpdateWeights(p, Shaping(spec), gradient, [&](auto d, size_t, auto w, auto g) HWY_ATTR {
    return hn::Sub(w, hn::Mul(hn::Set(d, rate), g));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(SgdKernel);

std::unique_ptr<Optimizer> MakeSgd(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 0}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(SgdKernel)(arguments...);
  });
}

}  // namespace capstan
#endif  // HWY_ONCE
