// Initializers of tensors.
#ifndef CAPSTAN_MODEL_INITIALIZERS_H_
#define CAPSTAN_MODEL_INITIALIZERS_H_

#include <cmath>
#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

inline v1::Initializer Zero() { return {}; }

inline v1::Initializer Constant(float value) {
  v1::Initializer initializer;
  initializer.set_kind(v1::INITIALIZER_KIND_CONSTANT);
  initializer.set_scale(value);
  return initializer;
}

// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio 2010).
inline v1::Initializer GlorotUniform(uint32_t fan_in, uint32_t fan_out) {
  v1::Initializer initializer;
  initializer.set_kind(v1::INITIALIZER_KIND_UNIFORM);
  initializer.set_scale(static_cast<float>(std::sqrt(6.0 / (fan_in + fan_out))));
  return initializer;
}

inline v1::Initializer Normal(float stddev) {
  v1::Initializer initializer;
  initializer.set_kind(v1::INITIALIZER_KIND_NORMAL);
  initializer.set_scale(stddev);
  return initializer;
}

}  // namespace capstan

#endif  // CAPSTAN_MODEL_INITIALIZERS_H_
