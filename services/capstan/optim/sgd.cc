// Stochastic gradient descent: w -= rate * g. No slots.
#include <memory>
#include <vector>

#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
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
namespace capstan::sgd {
namespace {

HWY_EXPORT(SgdKernel);

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return NewSlotOptimizer(spec, {.per_weight = 0}, [](const auto&... arguments) {
    HWY_DYNAMIC_DISPATCH(SgdKernel)(arguments...);
  });
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_SGD,
           .name = "sgd",
           .settings = SettingsOf({}, {}),
           .make = Make}};
}

}  // namespace capstan::sgd
#endif  // HWY_ONCE
