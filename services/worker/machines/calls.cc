#include "worker/machines/calls.h"

#include <algorithm>

#include "capstan/base/worth_repeating.h"

namespace capstan::worker {

Verdict Judge(const absl::Status& status) {
  if (IsWorthRepeating(status)) return Verdict::kAgain;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Verdict::kOk;
    case absl::StatusCode::kFailedPrecondition:  // The views differ.
      return Verdict::kAgain;
    case absl::StatusCode::kAborted:
      return Verdict::kRoundOver;
    default:
      return Verdict::kFatal;
  }
}

Verdict Judge(const OutcomeSummary& outcomes) {
  if (outcomes.not_owner > 0) return Verdict::kAgain;
  if (outcomes.wrong_round > 0) return Verdict::kRoundOver;
  if (outcomes.busy > 0 || outcomes.outside_window > 0) return Verdict::kAgain;
  return Verdict::kOk;
}

void OutcomeSummary::Count(v1::Outcome outcome, uint32_t times) {
  switch (outcome) {
    case v1::OUTCOME_UNSPECIFIED:
      return;
    case v1::OUTCOME_OLD_GENERATION:
      old_generation += times;
      return;
    case v1::OUTCOME_NOT_OWNER:
      not_owner += times;
      return;
    case v1::OUTCOME_WRONG_ROUND:
      wrong_round += times;
      return;
    case v1::OUTCOME_OUTSIDE_WINDOW:
      outside_window += times;
      return;
    case v1::OUTCOME_APPLIED:
    case v1::OUTCOME_QUEUED:
    case v1::OUTCOME_STAGED:
    case v1::OUTCOME_SETTLED:
    case v1::OUTCOME_DROPPED:
      settled += times;
      return;
    default:  // BUSY, or an outcome that only a later version knows.
      busy += times;
  }
}

void Call::Wait(const Backoff& backoff, absl::Duration hint, const RunnerContext& context) {
  constexpr int kMostDoublings = 16;
  state = State::kWaiting;
  // Callers that a peer refuses at the same time get the same hint; the random factor keeps them
  // from all coming back at the same time.
  const absl::Duration hinted = hint * (1 + context.random());
  if (hint > absl::ZeroDuration() && hint < backoff.first) {
    due = context.now + hinted;
    return;
  }
  const absl::Duration grown = backoff.first * (1 << std::min(failures, kMostDoublings));
  const absl::Duration jittered = std::min(grown, backoff.most) * (0.5 + 0.5 * context.random());
  ++failures;
  due = context.now + std::max(hinted, jittered);
}

}  // namespace capstan::worker
