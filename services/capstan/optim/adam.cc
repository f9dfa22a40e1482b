// Adam (Kingma and Ba, 2014) and AdamW (Loshchilov and Hutter, 2017), lazy: a row without a
// gradient is not changed. t += 1; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g
// * g; w -= rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon), where t counts this
// vector's own updates. AdamW first shrinks w by rate * weight_decay. Slots: m and v, initially 0,
// then t (a uint32).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "capstan/base/status.h"
#include "capstan/optim/adam_step.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"

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
namespace capstan::adam {
namespace {

using Spec = v1::OptimizerSpec;

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
    const uint32_t t = std::max(before, before + 1);  // Does not wrap.
    *counter = std::bit_cast<float>(t);
    HWY_DYNAMIC_DISPATCH(AdamKernel)(AdamStep(spec_, t, rate), p, gradient);
  }

 private:
  const v1::OptimizerSpec spec_;
};

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return std::make_unique<Adam>(spec);
}

absl::Status Check(const Spec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta1", spec.beta1()));
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta2", spec.beta2()));
  return CheckDivisor(spec, /*accumulator=*/0);
}

OptimizerDescription DescribeAs(v1::OptimizerKind kind, absl::string_view name,
                                double weight_decay) {
  return {.kind = kind,
          .name = name,
          .settings =
              SettingsOf({.learning_rate = 0.001, .weight_decay = weight_decay},
                         {Fraction("beta1", 0.9, &Spec::beta1, &Spec::set_beta1),
                          Fraction("beta2", 0.999, &Spec::beta2, &Spec::set_beta2), Epsilon(1e-8)}),
          .usual_rates = {.least = 1e-5, .most = 0.1},
          .slots_of = v1::OPTIMIZER_KIND_ADAM,
          .check = Check,
          .make = Make};
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {DescribeAs(v1::OPTIMIZER_KIND_ADAM, "adam", 0),
          DescribeAs(v1::OPTIMIZER_KIND_ADAMW, "adamw", 0.01)};
}

}  // namespace capstan::adam
#endif  // HWY_ONCE
