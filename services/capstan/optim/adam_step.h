// The values of one update by Adam that are the same for all elements.
#ifndef CAPSTAN_OPTIM_ADAM_STEP_H_
#define CAPSTAN_OPTIM_ADAM_STEP_H_

#include <cstdint>

#include "capstan/optim/shaping.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Immutable.
struct AdamStep {
  // For the `t`-th update of a vector. REQUIRES: t > 0.
  AdamStep(const v1::OptimizerSpec& spec, uint32_t t, float learning_rate);

  Shaping shaping;
  float beta1;
  float beta2;
  float epsilon;
  float rate;        // Learning rate / (1 - beta1^t).
  float root_scale;  // 1 / sqrt(1 - beta2^t).
  float keep;        // AdamW: 1 - learning rate * weight decay; otherwise 1.
};

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_ADAM_STEP_H_
