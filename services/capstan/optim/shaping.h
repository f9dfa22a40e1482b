// Clipping and weight decay, which are applied to every gradient before the optimizer's rule.
#ifndef CAPSTAN_OPTIM_SHAPING_H_
#define CAPSTAN_OPTIM_SHAPING_H_

#include <limits>

#include "capstan/v1/job.pb.h"

namespace capstan {

// g = clamp(g, -clip, clip) + decay * w. Immutable.
struct Shaping {
  explicit Shaping(const v1::OptimizerSpec& spec)
      : clip(spec.clip_value() > 0 ? spec.clip_value() : std::numeric_limits<float>::infinity()),
        decay(spec.kind() == v1::OPTIMIZER_KIND_ADAMW ? 0 : spec.weight_decay()) {}

  float clip;
  float decay;
};

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SHAPING_H_
