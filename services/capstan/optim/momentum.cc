#include "capstan/optim/momentum.h"

#include <algorithm>

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
  const Shaping shaping(spec);
  const float momentum = spec.momentum();
  const bool nesterov = spec.nesterov();
  ForEachVector(p.width, [&](auto d, size_t i) HWY_ATTR {
    const auto mu = hn::Set(d, momentum);
    const auto w = hn::LoadU(d, p.weights + i);
    const auto g = ShapedGradient(d, shaping, gradient, i, w);
    const auto m = hn::Add(hn::Mul(mu, hn::LoadU(d, p.slots + i)), g);
    hn::StoreU(m, d, p.slots + i);
    const auto direction = nesterov ? hn::Add(g, hn::Mul(mu, m)) : m;
    hn::StoreU(hn::Sub(w, hn::Mul(hn::Set(d, rate), direction)), d, p.weights + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(MomentumKernel);

class Momentum : public Optimizer {
 public:
  explicit Momentum(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t width) const override { return width; }
  void Initialize(const Parameters& p, float) const override {
    std::fill_n(p.slots, p.width, 0.0f);
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    HWY_DYNAMIC_DISPATCH(MomentumKernel)(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeMomentum(const v1::OptimizerSpec& spec) {
  return std::make_unique<Momentum>(spec);
}

}  // namespace capstan
#endif  // HWY_ONCE
