// Why a request was refused as a whole, for the counter of refusals.
#ifndef CAPSTAN_PS_SHARD_REJECTION_H_
#define CAPSTAN_PS_SHARD_REJECTION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "capstan/rpc/status.h"

namespace capstan::ps {

inline constexpr char kRejectionReason[] = "capstan/reason";

inline absl::Status WithReason(absl::Status status, const char* reason) {
  status.SetPayload(kRejectionReason, absl::Cord(reason));
  return status;
}

// When to come again to a partition that is frozen for a move. That takes a moment; where it has
// taken longer, the hint is that of a busy partition.
inline absl::Duration FrozenHint(absl::Duration frozen_for) {
  return absl::Milliseconds(frozen_for < absl::Seconds(1) ? 5 : 50);
}

// Makes the status of a request for which the shard's memory has no room now: RESOURCE_EXHAUSTED,
// with the hint to come again a little later.
inline absl::Status NoRoom(const std::string& message) {
  return WithReason(WithRetryAfter(absl::ResourceExhaustedError(message), absl::Milliseconds(100)),
                    "memory");
}

// A value of the label `reason` of capstan_gradients_rejected_total.
inline std::string ReasonOf(const absl::Status& status) {
  if (const absl::optional<absl::Cord> reason = status.GetPayload(kRejectionReason)) {
    return std::string(*reason);
  }
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return "unknown";
    case absl::StatusCode::kInvalidArgument:
      return "shape";
    default:
      return "session";
  }
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REJECTION_H_
