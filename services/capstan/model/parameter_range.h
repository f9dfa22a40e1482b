// A part of a model's flat dense parameters.
#ifndef CAPSTAN_MODEL_PARAMETER_RANGE_H_
#define CAPSTAN_MODEL_PARAMETER_RANGE_H_

#include <cstddef>

namespace capstan {

struct ParameterRange {
  size_t begin = 0, count = 0;
  bool operator==(const ParameterRange&) const = default;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_PARAMETER_RANGE_H_
