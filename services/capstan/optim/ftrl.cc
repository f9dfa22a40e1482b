// FTRL-proximal (McMahan et al., 2013: Ad click prediction, a view from the trenches):
// n' = n + g * g; z += g - (sqrt(n') - sqrt(n)) / rate * w; n = n';
// w = |z| <= l1 ? 0 : -(z - sign(z) * l1) / (sqrt(n) / rate + l2).
// Slots: n, initially initial_accumulator, and z, initially such that the rule gives the initial
// weight. If the divisor is 0 (l2 and initial_accumulator are 0, and so were all gradients, or
// their squares) the rule gives no weight, and w is not changed. TensorFlow sets it to 0 there; its
// l2 counts twice in the divisor.
#include <cmath>
#include <memory>
#include <vector>

#include "capstan/base/status.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"

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
    const auto given = hn::IfThenElse(small, hn::Zero(d), hn::Neg(hn::Div(beyond, divisor)));
    return hn::IfThenElse(hn::Eq(divisor, hn::Zero(d)), w, given);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan::ftrl {
namespace {

using Spec = v1::OptimizerSpec;

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

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return std::make_unique<Ftrl>(spec);
}

// The rate of a weight is part of its state, so it cannot follow a schedule.
absl::Status Check(const Spec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l1", spec.l1()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l2", spec.l2()));
  if (!(spec.learning_rate() > 0)) {
    return RefuseSetting("learning_rate", spec.learning_rate(), "a number > 0");
  }
  if (spec.learning_rate_power() != -0.5f) {
    return RefuseSetting("learning_rate_power", spec.learning_rate_power(), "-0.5");
  }
  if (spec.schedule().kind() != v1::SCHEDULE_KIND_UNSPECIFIED ||
      spec.schedule().warmup_examples() != 0) {
    return absl::InvalidArgumentError("optimizer: ftrl cannot follow a learning-rate schedule");
  }
  return absl::OkStatus();
}

void Complete(Spec& spec) { spec.set_learning_rate_power(-0.5); }

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_FTRL,
           .name = "ftrl",
           .settings = SettingsOf({.learning_rate = 0.05},
                                  {InitialAccumulator(),
                                   {.key = "l1", .get = &Spec::l1, .set = &Spec::set_l1},
                                   {.key = "l2", .get = &Spec::l2, .set = &Spec::set_l2}}),
           .follows_schedule = false,
           .complete = Complete,
           .check = Check,
           .make = Make}};
}

}  // namespace capstan::ftrl
#endif  // HWY_ONCE
