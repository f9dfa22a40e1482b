// How a gradient changes weights. An optimizer updates one vector: a segment of a table's row, or a
// dense block. Its state between updates (the slots) is stored beside the weights.
#ifndef CAPSTAN_OPTIM_OPTIMIZER_H_
#define CAPSTAN_OPTIM_OPTIMIZER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Weights and their slots, both owned by the caller and not overlapping.
struct Parameters {
  float* weights = nullptr;
  float* slots = nullptr;  // SlotCount(width) floats.
  size_t width = 0;
};

// Results are bit-equal on every machine: each element is computed by the same sequence of IEEE
// operations, regardless of the width of the SIMD unit. Immutable, therefore thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Returns the number of slot floats for `width` weights.
  virtual size_t SlotCount(size_t width) const = 0;

  // Initializes the slots of new weights, which have their initial values. `learning_rate` is the
  // rate that Apply would get without a schedule.
  virtual void Initialize(const Parameters& parameters, float learning_rate) const = 0;

  // Applies one gradient. `gradient` points to `width` finite float32s at any alignment.
  virtual void Apply(const Parameters& parameters, const void* gradient,
                     float learning_rate) const = 0;
};

// Creates the optimizer of a spec. INVALID_ARGUMENT: a setting is impossible; the message names it.
absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_OPTIMIZER_H_
