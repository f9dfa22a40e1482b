// What a partition's machines answer: the outcome of a gradient, and which gradients to apply.
//
// A gradient is named by a handle, which the caller chooses. Every handle that is given to a
// machine comes out exactly once: in an Addition, in an Update or in `discarded`, of this call's
// Decision or of a later one's.
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

// One application of the optimizer, to `scale` times the sum of two things: the part's sum, if
// gradients have been added to it, and the contributions. (For tensors that are not trained:
// `running_scale` times.) Gradients are added in their order, each to the sum of those before it,
// so that synchronous rounds come out bit-equal, whatever was added ahead.
struct Update {
  Part part{};
  uint32_t added = 0;  // Number of gradients in the part's sum, which the update empties.
  absl::InlinedVector<Contribution, 1> contributions;
  double scale = 1;
  double running_scale = 1;
  uint64_t version = 0;  // The part's version after the update.
  uint64_t round = 0;    // Synchronous: the round that the update closes; otherwise 0.
};

struct Decision {
  // What became of the pushed gradient; UNSPECIFIED: the event was no push.
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  absl::InlinedVector<Addition, 1> additions;  // Carried out in this order; then
  absl::InlinedVector<Update, 1> updates;      // `updates` in theirs; then all else.
  absl::InlinedVector<GradientHandle, 1> discarded;
};

// The decision on a push that is not taken: its gradient is discarded at once.
inline Decision Refused(v1::Outcome outcome, GradientHandle handle) {
  Decision decision;
  decision.outcome = outcome;
  decision.discarded.push_back(handle);
  return decision;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_DECISION_H_
