// Why a request was refused as a whole, or a gradient was not applied, for the counter of refusals.
#ifndef CAPSTAN_PS_PARTITION_REJECTION_H_
#define CAPSTAN_PS_PARTITION_REJECTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/retry_hints.h"

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

// Makes the status of a request for which the shard's memory has no room now: RESOURCE_EXHAUSTED,
// with the hint to come again a little later.
inline absl::Status NoRoom(const std::string& message) {
  return WithReason(WithRetryAfter(absl::ResourceExhaustedError(message), kNoRoomHint),
                    Rejection::kMemory);
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_REJECTION_H_
