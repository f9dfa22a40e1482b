// Adagrad with one accumulator for the whole vector, as used for large embedding tables:
// sum += mean(g * g); w -= rate / (sqrt(sum) + epsilon) * g. One slot: sum, initially
// initial_accumulator.
#include <cmath>
#include <memory>
#include <vector>

#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "capstan/optim/rowwise_adagrad.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each SIMD target.
// Not before foreach_target.h:
#include "capstan/optim/elementwise-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace capstan {
namespace HWY_NAMESPACE {

// Element i is added to the (i % 4)-th of four partial sums: the same order on every machine.
float SumOfSquares(const Shaping& shaping, const Parameters& p, const void* gradient) {
  const hn::FixedTag<float, 4> quad;
  const hn::CappedTag<float, 1> single;
  auto sums = hn::Zero(quad);
  size_t i = 0;
  for (; i + 4 <= p.width; i += 4) {
    const auto g = ShapedGradient(quad, shaping, gradient, i, hn::LoadU(quad, p.weights + i));
    sums = hn::Add(sums, hn::Mul(g, g));
  }
  float partial[4];
  hn::StoreU(sums, quad, partial);
  for (; i < p.width; ++i) {
    const float g =
        hn::GetLane(ShapedGradient(single, shaping, gradient, i, hn::LoadU(single, p.weights + i)));
    partial[i % 4] += g * g;
  }
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

void RowwiseAdagradKernel(const v1::OptimizerSpec& spec, const Parameters& p, const void* gradient,
                          float rate) {
  const Shaping shaping(spec);
  float& sum = p.slots[0];
  sum += SumOfSquares(shaping, p, gradient) / static_cast<float>(p.width);
  const float row_rate = rate / (std::sqrt(sum) + spec.epsilon());
  UpdateWeights(p, shaping, gradient, [&](auto d, size_t, auto w, auto g) HWY_ATTR {
    return hn::Sub(w, hn::Mul(hn::Set(d, row_rate), g));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace capstan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace capstan::rowwise_adagrad {
namespace {

HWY_EXPORT(RowwiseAdagradKernel);

class RowwiseAdagrad : public Optimizer {
 public:
  explicit RowwiseAdagrad(const v1::OptimizerSpec& spec) : spec_(spec) {}

  size_t SlotCount(size_t) const override { return 1; }
  void Initialize(const Parameters& p, float) const override {
    p.slots[0] = spec_.initial_accumulator();
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    HWY_DYNAMIC_DISPATCH(RowwiseAdagradKernel)(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
};

std::unique_ptr<Optimizer> Make(const v1::OptimizerSpec& spec) {
  return std::make_unique<RowwiseAdagrad>(spec);
}

absl::Status Check(const v1::OptimizerSpec& spec) {
  return CheckDivisor(spec, spec.initial_accumulator());
}

}  // namespace

std::vector<OptimizerDescription> Describe() {
  return {{.kind = v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD,
           .name = "rowwise_adagrad",
           .settings = SettingsOf({.learning_rate = 0.05}, {Epsilon(1e-10), InitialAccumulator()}),
           .by_row = true,
           .check = Check,
           .make = Make}};
}

}  // namespace capstan::rowwise_adagrad
#endif  // HWY_ONCE
