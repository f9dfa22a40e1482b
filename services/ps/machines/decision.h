// The decisions of a partition's machines: the outcome of a gradient, and which gradients to apply.
//
// A gradient is identified by a handle, which the caller chooses. Every handle that is passed to a
// machine is returned exactly once, in the Decision of this call or of a later one: in an Addition,
// in an Update or in `discarded`.
#ifndef CAPSTAN_PS_MACHINES_DECISION_H_
#define CAPSTAN_PS_MACHINES_DECISION_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::ps {

enum class GradientHandle : uint64_t {};

// One gradient's share in an update. The gradient applied is the sum over the contributions of
// weight * g, where `compensate` asks for g + lambda * g * g * (w_now - w_pulled) in place of g.
// For tensors that are not trained (OPTIMIZER_KIND_RUNNING) it is the sum of running_weight * g.
struct Contribution {
  GradientHandle handle{};
  double weight = 1;
  uint64_t staleness = 0;  // In versions; 0 in synchronous rounds.
  bool compensate = false;
  double running_weight = 1;
};

// A gradient of the open round, which is added to the part's sum before the round's Update.
struct Addition {
  Part part{};
  GradientHandle handle{};
  double weight = 1;
  double running_weight = 1;
  LaneIndex lane{};
  Generation generation = {};
};

// One application of the optimizer, to `scale` times the sum of the part's sum (if gradients were
// added to it) and of the contributions. (For tensors that are not trained: `running_scale` times.)
// Gradients are added in their order, each to the sum of those before it, so that the results of
// synchronous rounds are bit-equal, regardless of which gradients were added before the round
// closed.
struct Update {
  Part part{};
  uint32_t added = 0;  // How many gradients are in the part's sum, which the update empties.
  absl::InlinedVector<Contribution, 1> contributions;
  double scale = 1;
  double running_scale = 1;
  uint64_t version = 0;  // The part's version after the update.
  uint64_t round = 0;    // Synchronous: the round that the update closes; otherwise 0.
};

struct Decision {
  // The outcome of the push; UNSPECIFIED if the event was not a push.
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  // To be carried out in this order: the additions, then the updates, then the rest.
  absl::InlinedVector<Addition, 1> additions;
  absl::InlinedVector<Update, 1> updates;
  absl::InlinedVector<GradientHandle, 1> discarded;
};

// Returns the decision to refuse a push and discard its gradient.
inline Decision Refused(v1::Outcome outcome, GradientHandle handle) {
  Decision decision;
  decision.outcome = outcome;
  decision.discarded.push_back(handle);
  return decision;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_DECISION_H_
