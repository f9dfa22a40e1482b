#include "capstan/optim/rmsprop.h"

#include <algorithm>

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
  const Shaping shaping(spec);
  const float decay = spec.decay();
  const float epsilon = spec.epsilon();
  ForEachVector(p.width, [&](auto d, size_t i) HWY_ATTR {
    const auto w = hn::LoadU(d, p.weights + i);
    const auto g = ShapedGradient(d, shaping, gradient, i, w);
    const auto kept = hn::Mul(hn::Set(d, decay), hn::LoadU(d, p.slots + i));
    const auto v = hn::Add(kept, hn::Mul(hn::Set(d, 1.0f - decay), hn::Mul(g, g)));
    hn::StoreU(v, d, p.slots + i);
    const auto root = hn::Add(hn::Sqrt(v), hn::Set(d, epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, rate), g), root);
    hn::StoreU(hn::Sub(w, change), d, p.weights + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(RmspropKernel);

class Rmsprop : public Optimizer {
 public:
  explicit Rmsprop(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t width) const override { return width; }
  void Initialize(const Parameters& p, float) const override {
    std::fill_n(p.slots, p.width, 0.0f);
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    HWY_DYNAMIC_DISPATCH(RmspropKernel)(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeRmsprop(const v1::OptimizerSpec& spec) {
  return std::make_unique<Rmsprop>(spec);
}

}  // namespace capstan
#endif  // HWY_ONCE
