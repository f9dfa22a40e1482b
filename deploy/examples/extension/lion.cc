// Your own optimizer: Lion (Chen et al., 2023: Symbolic discovery of optimization
// algorithms). With m from 0:
//   u = sign(beta1 * m + (1 - beta1) * g); w -= rate * (u + weight_decay * w);
//   m = beta2 * m + (1 - beta2) * g.
//
// CMakeLists.txt builds it into the programs.
//
//   job.yaml:  optimizer: {sparse: {kind: lion, learning_rate: 0.0003}}
#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "capstan/base/status.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
#include "capstan/optim/shaping.h"

namespace capstan {
namespace {

using Spec = v1::OptimizerSpec;

// Messages and checkpoints name it by this number.
constexpr auto kLion = static_cast<v1::OptimizerKind>(kFirstKindOfOnesOwn);

float Sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

class Lion : public Optimizer {
 public:
  explicit Lion(const Spec& spec) : spec_(spec), clip_(Shaping(spec).clip) {}

  size_t SlotCount(size_t width) const override { return width; }
  void Initialize(const Parameters& p, float) const override {
    std::fill_n(p.slots, p.width, 0.0f);
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    for (size_t i = 0; i < p.width; ++i) {
      float g;
      std::memcpy(&g, static_cast<const char*>(gradient) + i * sizeof(g), sizeof(g));
      g = std::clamp(g, -clip_, clip_);
      float& w = p.weights[i];
      float& m = p.slots[i];
      const float direction = Sign(spec_.beta1() * m + (1 - spec_.beta1()) * g);
      w -= rate * (direction + spec_.weight_decay() * w);
      m = spec_.beta2() * m + (1 - spec_.beta2()) * g;
    }
  }

 private:
  const Spec spec_;
  const float clip_;
};

std::unique_ptr<Optimizer> Make(const Spec& spec) { return std::make_unique<Lion>(spec); }

absl::Status Check(const Spec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta1", spec.beta1()));
  return CheckFraction("beta2", spec.beta2());
}

const OptimizerRegistration kRegistration(
    {.kind = kLion,
     .name = "lion",
     .settings = SettingsOf({.learning_rate = 0.0001},
                            {Fraction("beta1", 0.9, &Spec::beta1, &Spec::set_beta1),
                             Fraction("beta2", 0.99, &Spec::beta2, &Spec::set_beta2)}),
     .usual_rates = {.least = 1e-6, .most = 0.01},
     .check = Check,
     .make = Make});

}  // namespace
}  // namespace capstan
