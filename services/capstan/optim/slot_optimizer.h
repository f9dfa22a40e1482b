// A base for optimizers that keep the same number of slots for every weight, all with one initial
// value, and whose update is a kernel. Each such optimizer only adds its rule.
#ifndef CAPSTAN_OPTIM_SLOT_OPTIMIZER_H_
#define CAPSTAN_OPTIM_SLOT_OPTIMIZER_H_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct Slots {
  size_t per_weight = 0;
  float initial = 0;
};

// `Kernel` is called as kernel(spec, parameters, gradient, learning_rate) for Optimizer::Apply.
template <typename Kernel>
class SlotOptimizer final : public Optimizer {
 public:
  SlotOptimizer(const v1::OptimizerSpec& spec, const Slots& slots, Kernel kernel)
      : spec_(spec), slots_(slots), kernel_(kernel) {}

  size_t SlotCount(size_t width) const override { return slots_.per_weight * width; }
  void Initialize(const Parameters& p, float) const override {
    std::fill_n(p.slots, SlotCount(p.width), slots_.initial);
  }
  void Apply(const Parameters& p, const void* gradient, float rate) const override {
    kernel_(spec_, p, gradient, rate);
  }

 private:
  const v1::OptimizerSpec spec_;
  const Slots slots_;
  const Kernel kernel_;
};

template <typename Kernel>
std::unique_ptr<Optimizer> NewSlotOptimizer(const v1::OptimizerSpec& spec, const Slots& slots,
                                            Kernel kernel) {
  return std::make_unique<SlotOptimizer<Kernel>>(spec, slots, kernel);
}

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SLOT_OPTIMIZER_H_
