#include "capstan/optim/adam.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "capstan/optim/adam_step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/adam.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

void AdamKernel(const AdamStep& step, const Parameters& p, const void* gradient) {
  float* m_slots = p.slots;
  float* v_slots = p.slots + p.width;
  UpdateWeights(p, step.shaping, gradient, [&](auto d, size_t i, auto w, auto g) HWY_ATTR {
    const auto m = hn::Add(hn::Mul(hn::Set(d, step.beta1), hn::LoadU(d, m_slots + i)),
                           hn::Mul(hn::Set(d, 1.0f - step.beta1), g));
    const auto v = hn::Add(hn::Mul(hn::Set(d, step.beta2), hn::LoadU(d, v_slots + i)),
                           hn::Mul(hn::Set(d, 1.0f - step.beta2), hn::Mul(g, g)));
    hn::StoreU(m, d, m_slots + i);
    hn::StoreU(v, d, v_slots + i);
    const auto root =
        hn::Add(hn::Mul(hn::Sqrt(v), hn::Set(d, step.root_scale)), hn::Set(d, step.epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, step.rate), m), root);
    const auto kept = hn::Mul(hn::Set(d, step.keep), w);
    return hn::Sub(kept, change);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan {
namespace {

HWY_EXPORT(AdamKernel);

class Adam : public Optimizer {
 public:
  explicit Adam(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t width) const override { return 2 * width + 1; }
  void Initialize(const Parameters& p, float) const override {
    std::fill_n(p.slots, SlotCount(p.width), 0.0f);  // The bits of 0.0f are those of step 0.
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    float* counter = p.slots + 2 * p.width;
    const uint32_t before = std::bit_cast<uint32_t>(*counter);
    const uint32_t t = std::max(before, before + 1);  // Stays at the last number.
    *counter = std::bit_cast<float>(t);
    HWY_DYNAMIC_DISPATCH(AdamKernel)(AdamStep(spec_, t, rate), p, gradient);
  }

 private:
  const v1::OptimizerSpec spec_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeAdam(const v1::OptimizerSpec& spec) {
  return std::make_unique<Adam>(spec);
}

}  // namespace capstan
#endif  // HWY_ONCE
