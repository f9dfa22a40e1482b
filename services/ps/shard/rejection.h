// Why a request was refused as a whole, or a gradient was not applied, for the counter of refusals.
#ifndef CAPSTAN_PS_SHARD_REJECTION_H_
#define CAPSTAN_PS_SHARD_REJECTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::ps {

enum class Rejection {
  kShape,
  kNan,
  kUnknown,
  kSession,
  kDuplicate,
  kStale,
  kOldGeneration,
  kNotOwner,
  kBusy,
  kWrongRound,
  kOutsideWindow,
  kMemory,
  kSeal,
};
inline constexpr size_t kRejections = static_cast<size_t>(Rejection::kSeal) + 1;

// The value of the label `reason` of capstan_gradients_rejected_total.
std::string_view LabelOf(Rejection reason);

// Notes in `status`, an error, that this is why the request was refused.
absl::Status WithReason(absl::Status status, Rejection reason);
// Returns why a request that ended with `status`, an error, was refused: the reason that was noted
// in `status`, otherwise what its code says.
Rejection ReasonOf(const absl::Status& status);

// Returns why a gradient of this outcome was not applied; nothing if it was applied, or will be.
std::optional<Rejection> ReasonOf(v1::Outcome outcome);

// When to come again to a partition that is frozen for a move. That takes a moment; where it has
// taken longer, the hint is that of a busy partition.
inline absl::Duration FrozenHint(absl::Duration frozen_for) {
  return absl::Milliseconds(frozen_for < absl::Seconds(1) ? 5 : 50);
}

// Makes the status of a request for which the shard's memory has no room now: RESOURCE_EXHAUSTED,
// with the hint to come again a little later.
inline absl::Status NoRoom(const std::string& message) {
  return WithReason(WithRetryAfter(absl::ResourceExhaustedError(message), absl::Milliseconds(100)),
                    Rejection::kMemory);
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REJECTION_H_
