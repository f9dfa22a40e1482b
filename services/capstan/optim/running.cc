#include "capstan/optim/running.h"

#include "capstan/optim/slot_optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/running.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void RunningKernel(const Parameters& p, const void* gradient) {
  ForEachVector(p.width, [&](auto d, size_t i) HWY_ATTR {
    const auto w = hn::LoadU(d, p.weights + i);
    hn::StoreU(hn::Sub(w, LoadPacked(d, gradient, i)), d, p.weights + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {

HWY_EXPORT(RunningKernel);

std::unique_ptr<Optimizer> MakeRunning() {
  return NewSlotOptimizer(
      {}, {.per_weight = 0},
      [](const v1::OptimizerSpec&, const Parameters& parameters, const void* gradient, float) {
        HWY_DYNAMIC_DISPATCH(RunningKernel)(parameters, gradient);
      });
}

}  // namespace capstan
#endif  // HWY_ONCE
