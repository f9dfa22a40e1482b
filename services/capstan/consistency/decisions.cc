#include "capstan/consistency/decisions.h"

#include <algorithm>

namespace capstan {

bool MayPull(uint64_t step, uint64_t slowest_clock, uint64_t bound) {
  return step <= slowest_clock || step - slowest_clock <= bound;
}

StaleDecision DecideStale(const v1::UpdatePolicy& policy, uint64_t staleness) {
  switch (policy.stale_gradients()) {
    case v1::STALE_GRADIENTS_SCALE:
      return {.weight = 1.0 / static_cast<double>(std::max<uint64_t>(1, staleness))};
    case v1::STALE_GRADIENTS_COMPENSATE:
      return {.compensate = true};
    case v1::STALE_GRADIENTS_DROP:
      return {.drop = staleness > policy.drop_above()};
    default:
      return {};
  }
}

bool IsSettled(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_UNSPECIFIED:
    case v1::OUTCOME_APPLIED:
    case v1::OUTCOME_QUEUED:
    case v1::OUTCOME_STAGED:
    case v1::OUTCOME_SETTLED:
    case v1::OUTCOME_DROPPED:
      return true;
    default:
      return false;
  }
}

v1::Outcome KnownOutcome(v1::Outcome outcome) {
  return v1::Outcome_IsValid(outcome) ? outcome : v1::OUTCOME_BUSY;
}

int ReportsToClose(int lanes_with_data, int backup_workers) {
  return std::max(1, lanes_with_data - backup_workers);
}

double LaneWeight(uint32_t lane_examples, uint32_t batch_size, bool sum_loss) {
  return sum_loss ? 1 : static_cast<double>(lane_examples) / static_cast<double>(batch_size);
}

double RoundScale(uint64_t round_examples, uint32_t batch_size, bool sum_loss) {
  if (sum_loss) return 1;
  if (round_examples == 0) return 0;
  return static_cast<double>(batch_size) / static_cast<double>(round_examples);
}

uint64_t ExamplesOf(const RoundCommit& set) {
  uint64_t sum = 0;
  for (const ClosedLane& lane : set.lanes) sum += lane.examples;
  return sum;
}

}  // namespace capstan
