#include "capstan/optim/sgd.h"

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
  const Shaping shaping(spec);
  ForEachVector(p.width, [&](auto d, size_t i) HWY_ATTR {
    const auto w = hn::LoadU(d, p.weights + i);
    const auto g = ShapedGradient(d, shaping, gradient, i, w);
    hn::StoreU(hn::Sub(w, hn::Mul(hn::Set(d, rate), g)), d, p.weights + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(SgdKernel);

class Sgd : public Optimizer {
 public:
  explicit Sgd(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t) const override { return 0; }
  void Initialize(const Parameters&, float) const override {}
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    HWY_DYNAMIC_DISPATCH(SgdKernel)(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeSgd(const v1::OptimizerSpec& spec) {
  return std::make_unique<Sgd>(spec);
}

}  // namespace capstan
#endif  // HWY_ONCE
