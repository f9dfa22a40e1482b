#include "worker/shell/frozen_tensors.h"

#include <algorithm>

namespace capstan::worker {

void FrozenTensors::Learn(Timeline timeline, absl::Span<const float> parameters) {
  timeline_ = timeline;
  values_.clear();
  for (const ParameterMap::Range& range : map_.frozen()) {
    const absl::Span<const float> tensor = parameters.subspan(range.begin, range.count);
    values_.insert(values_.end(), tensor.begin(), tensor.end());
  }
}

void FrozenTensors::Fill(absl::Span<float> parameters) const {
  const float* from = values_.data();
  for (const ParameterMap::Range& range : map_.frozen()) {
    std::copy_n(from, range.count, parameters.data() + range.begin);
    from += range.count;
  }
}

}  // namespace capstan::worker
