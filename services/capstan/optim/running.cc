// For running tensors, whose gradient is the amount by which a step has changed the tensor: w -= g,
// without learning rate, clipping and decay. No slots.
#include <memory>
#include <vector>

#include "capstan/optim/optimizer_description.h"
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
namespace capstan::running {
namespace {

HWY_EXPORT(RunningKernel);

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec&) {
  return NewSlotOptimizer(
      {}, {.per_weight = 0},
      [](const v1::OptimizerSpec&, const Parameters& parameters, const void* gradient, float) {
        HWY_DYNAMIC_DISPATCH(RunningKernel)(parameters, gradient);
      });
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_RUNNING, .make = Make}};
}

}  // namespace capstan::running
#endif  // HWY_ONCE
