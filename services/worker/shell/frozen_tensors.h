// Tensors that never change: one step of a timeline pulls them, and the others copy them from here.
#ifndef CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_
#define CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/client/parameter_map.h"

namespace capstan::worker {

// The worker's copy. Vectors of parameters are flat ones of all tensors. Thread-compatible.
class FrozenTensors {
 public:
  // `map` must outlive it.
  explicit FrozenTensors(const ParameterMap& map) : map_(map) {}

  // Whether they are known as they are in this timeline; where there are none, always.
  bool Know(Timeline timeline) const { return map_.frozen().empty() || timeline_ == timeline; }

  // All of `parameters` was pulled in this timeline.
  void Learn(Timeline timeline, absl::Span<const float> parameters);

  // Writes them to their places. REQUIRES: they are known.
  void Fill(absl::Span<float> parameters) const;

 private:
  const ParameterMap& map_;
  std::optional<Timeline> timeline_;  // The one of `values_`; nothing: they are not known.
  std::vector<float> values_;         // One tensor after another.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_
