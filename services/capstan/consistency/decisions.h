// The decisions of the update policies. Pure functions: (clocks, versions, policy) -> what happens.
#ifndef CAPSTAN_CONSISTENCY_DECISIONS_H_
#define CAPSTAN_CONSISTENCY_DECISIONS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "capstan/consistency/round_commit.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// ---- ssp ----

// Returns true if a pull for step `step` may proceed: `step` exceeds the number of steps that the
// slowest live trainer has finished by at most `bound`.
[[nodiscard]] bool MayPull(uint64_t step, uint64_t slowest_clock, uint64_t bound);

// ---- stale gradients ----

// What to do with a gradient of this staleness. Staleness counts the updates, of the gradient's
// part of the partition or of its row alone, between the pull and the application.
struct StaleDecision {
  bool drop = false;
  bool compensate = false;  // DC-ASGD, by the policy's lambda.
  double weight = 1;
  friend bool operator==(const StaleDecision&, const StaleDecision&) = default;
};
[[nodiscard]] StaleDecision DecideStale(const v1::UpdatePolicy& policy, uint64_t staleness);

// Returns true if each push contains the weights that were pulled, from which shards compensate
// stale gradients.
[[nodiscard]] inline bool Compensates(const v1::JobSpec& job) {
  return job.dense_update().stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE ||
         job.sparse_update().stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE;
}

// ---- synchronous rounds ----

// Returns how many reports close a round: max(1, D - b) of the D lanes that still have data.
// REQUIRES: D >= 1.
[[nodiscard]] int ReportsToClose(int lanes_with_data, int backup_workers);

// The gradient of a round is RoundScale * (the sum over its lanes of LaneWeight * gradient). For
// mean losses a lane's weight is its examples / batch_size, so that the sum may be begun before the
// number of all examples is known. For summed losses weights and scale are 1. With mean losses a
// round without examples has scale 0. REQUIRES: batch_size >= 1.
[[nodiscard]] double LaneWeight(uint32_t lane_examples, uint32_t batch_size, bool sum_loss);
[[nodiscard]] double RoundScale(uint64_t round_examples, uint32_t batch_size, bool sum_loss);
[[nodiscard]] uint64_t ExamplesOf(const RoundCommit& set);

// ---- both ----

// Returns true if the client is done with this part of its push. Otherwise the client pushes it
// again, and its step is not finished: under ssp no trainer may get further ahead.
[[nodiscard]] bool IsSettled(v1::Outcome outcome);

// Returns the outcome as understood by this version. An outcome that only a later version knows
// becomes BUSY, so that the gradient is pushed again, as it may not be settled.
[[nodiscard]] v1::Outcome KnownOutcome(v1::Outcome outcome);

[[nodiscard]] inline bool IsSync(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_SYNC;
}
// Returns true if gradients of a round are added before the round closes. With backup workers they
// are not, because whose gradients belong to the round is only known when it closes.
[[nodiscard]] inline bool AddsAhead(const v1::UpdatePolicy& policy) {
  return IsSync(policy) && policy.backup_workers() == 0;
}
[[nodiscard]] inline bool IsSsp(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_SSP;
}

// Returns how many gradients a queue collects before their mean is applied; 1: each is applied on
// arrival.
[[nodiscard]] inline uint32_t AggregateOf(const v1::UpdatePolicy& policy) {
  return policy.kind() == v1::POLICY_KIND_ASYNC && policy.aggregate() > 1 ? policy.aggregate() : 1;
}

// Returns true if a shard keeps gradients until others have arrived: those of their round, or of
// their queue.
[[nodiscard]] inline bool GathersGradients(const v1::UpdatePolicy& policy) {
  return IsSync(policy) || AggregateOf(policy) > 1;
}

// Returns true if gradients for which a shard has no memory may be refused forever, because no lane
// has a turn in which its gradient is always accepted.
[[nodiscard]] inline bool NeedsRoomForAll(const v1::UpdatePolicy& policy) {
  return GathersGradients(policy) && !AddsAhead(policy);
}
[[nodiscard]] inline bool NeedsRoomForAll(const v1::JobSpec& job) {
  return NeedsRoomForAll(job.dense_update()) || NeedsRoomForAll(job.sparse_update());
}

// Returns how many trainers of a worker share a connection to each shard. Except under ssp all of
// them do: one thread sends and receives the calls of all of them, so further connections would
// carry no more, and each costs memory and an open file at both ends. Under ssp the pulls of
// trainers that are ahead wait at the shards for slower trainers, and a connection carries a
// limited number of calls at a time (rpc/limits.h): if all of these waited, the pushes that end the
// wait could not be sent. Each trainer has only a few pulls under way, so eight of them never reach
// that limit.
[[nodiscard]] inline uint32_t TrainersOfAConnection(const v1::JobSpec& job) {
  const bool pulls_wait = IsSsp(job.dense_update()) || IsSsp(job.sparse_update());
  return pulls_wait ? 8 : std::numeric_limits<uint32_t>::max();
}
// Returns how many connections a worker has to each shard.
[[nodiscard]] inline uint32_t ConnectionsOfAWorker(const v1::JobSpec& job) {
  const uint64_t threads = std::max<uint64_t>(job.train().compute_threads(), 1);
  const uint64_t share = TrainersOfAConnection(job);
  return static_cast<uint32_t>((threads + share - 1) / share);
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_DECISIONS_H_
