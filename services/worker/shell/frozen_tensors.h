// Tensors that never change: one step of a timeline pulls them, and the other steps copy them from
// here.
#ifndef CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_
#define CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/client/parameter_map.h"

namespace capstan::worker {

// The worker's copy of the frozen tensors. `parameters` is always the flat vector of all tensors.
// Thread-compatible.
class FrozenTensors {
 public:
  // `map` must outlive this object.
  explicit FrozenTensors(const ParameterMap& map) : map_(map) {}

  // Returns whether the frozen tensors of `timeline` are known; true if the job has none.
  bool Know(Timeline timeline) const { return map_.frozen().empty() || timeline_ == timeline; }

  // Copies the frozen tensors from `parameters`, all of which was pulled in `timeline`.
  void Learn(Timeline timeline, absl::Span<const float> parameters);

  // Writes the frozen tensors to their places in `parameters`. REQUIRES: they are known.
  void Fill(absl::Span<float> parameters) const;

 private:
  const ParameterMap& map_;
  std::optional<Timeline> timeline_;  // The timeline of `values_`; nullopt: they are not known.
  std::vector<float> values_;         // One tensor after another.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_FROZEN_TENSORS_H_
