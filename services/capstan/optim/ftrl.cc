#include "capstan/optim/ftrl.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/ftrl.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void FtrlKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
                float rate) {
  const float l1 = spec.l1();
  const float l2 = spec.l2();
  const float inverse_rate = 1.0f / rate;
  float* squares = p.slots;
  float* z_slots = p.slots + p.width;
  UpdateWeights(p, Shaping(spec), gradient, [&](auto d, size_t i, auto w, auto g) HWY_ATTR {
    const auto n = hn::LoadU(d, squares + i);
    const auto new_n = hn::Add(n, hn::Mul(g, g));
    hn::StoreU(new_n, d, squares + i);
    const auto inverse = hn::Set(d, inverse_rate);
    const auto root = hn::Sqrt(new_n);
    const auto sigma = hn::Mul(hn::Sub(root, hn::Sqrt(n)), inverse);
    const auto z = hn::Add(hn::LoadU(d, z_slots + i), hn::Sub(g, hn::Mul(sigma, w)));
    hn::StoreU(z, d, z_slots + i);
    const auto beyond = hn::Sub(z, hn::CopySign(hn::Set(d, l1), z));
    const auto divisor = hn::Add(hn::Mul(root, inverse), hn::Set(d, l2));
    const auto small = hn::Le(hn::Abs(z), hn::Set(d, l1));
    return hn::IfThenElse(small, hn::Zero(d), hn::Neg(hn::Div(beyond, divisor)));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(FtrlKernel);

class Ftrl : public Optimizer {
 public:
  explicit Ftrl(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t width) const override { return 2 * width; }
  void Initialize(const Parameters& p, float rate) const override {
    const float n = spec_.initial_accumulator();
    const float divisor = std::sqrt(n) / rate + spec_.l2();
    for (size_t i = 0; i < p.width; ++i) {
      const float w = p.weights[i];
      p.slots[i] = n;
      p.slots[p.width + i] = w == 0 ? 0 : -(w * divisor + std::copysign(spec_.l1(), w));
    }
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    HWY_DYNAMIC_DISPATCH(FtrlKernel)(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeFtrl(const v1::OptimizerSpec& spec) {
  return std::make_unique<Ftrl>(spec);
}

}  // namespace capstan
#endif  // HWY_ONCE
