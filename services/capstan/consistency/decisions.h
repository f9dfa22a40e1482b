// The decisions of the update policies. Pure functions: (clocks, versions, policy) -> what happens.
#ifndef CAPSTAN_CONSISTENCY_DECISIONS_H_
#define CAPSTAN_CONSISTENCY_DECISIONS_H_

#include <cstdint>

#include "capstan/consistency/round_commit.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// ---- ssp ----

// A pull for step `step` may proceed while it is at most `bound` ahead of the steps which the
// slowest live trainer has finished.
[[nodiscard]] bool MayPull(uint64_t step, uint64_t slowest_clock, uint64_t bound);

// ---- stale gradients ----

// What becomes of a gradient of this staleness: updates of its part of the partition, or of its row
// alone, between the pull and the application.
struct StaleDecision {
  bool drop = false;
  bool compensate = false;  // DC-ASGD, by the policy's lambda.
  double weight = 1;
  friend bool operator==(const StaleDecision&, const StaleDecision&) = default;
};
[[nodiscard]] StaleDecision DecideStale(const v1::UpdatePolicy& policy, uint64_t staleness);

// ---- synchronous rounds ----

// Reports that close a round: max(1, D - b) of the D lanes which still have data. REQUIRES: D >= 1.
[[nodiscard]] int ReportsToClose(int lanes_with_data, int backup_workers);

// The gradient of a round is RoundScale * (the sum over its lanes of LaneWeight * gradient). Mean
// losses: each lane weighs as its share of the examples, so that the sum may be begun while the
// number of all examples is not known yet; a full batch has weight 1. Summed losses: all are 1.
// A round without examples has scale 0. REQUIRES: batch_size >= 1.
[[nodiscard]] double LaneWeight(uint32_t lane_examples, uint32_t batch_size, bool sum_loss);
[[nodiscard]] double RoundScale(uint64_t round_examples, uint32_t batch_size, bool sum_loss);
[[nodiscard]] uint64_t ExamplesOf(const RoundCommit& set);

// ---- both ----

// Returns whether the client is through with this part of its push. Otherwise it comes again, and
// the step is not finished: under ssp nobody may run ahead of it.
[[nodiscard]] bool IsSettled(v1::Outcome outcome);

// The outcome as this version understands it. One that only a later version knows may not be
// settled: it counts as BUSY, so that the gradient is offered again.
[[nodiscard]] v1::Outcome KnownOutcome(v1::Outcome outcome);

[[nodiscard]] inline bool IsSync(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_SYNC;
}
// Returns whether gradients of a round are added before it closes: with backup workers it is known
// only then whose belong to it.
[[nodiscard]] inline bool AddsAhead(const v1::UpdatePolicy& policy) {
  return IsSync(policy) && policy.backup_workers() == 0;
}
[[nodiscard]] inline bool IsSsp(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_SSP;
}

// Gradients a queue takes before their mean is applied; 1: each is applied on arrival.
[[nodiscard]] inline uint32_t AggregateOf(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_ASYNC && policy.aggregate() > 1 ? policy.aggregate() : 1;
}

// Returns whether gradients wait on a shard for others: for those of their round, or of their
// queue.
[[nodiscard]] inline bool GathersGradients(const v1::UpdatePolicy& policy) {
  return IsSync(policy) || AggregateOf(policy) > 1;
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_DECISIONS_H_
