// Why a request was refused as a whole, or a gradient was not applied; for the counter of refusals.
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

// Returns the value of the label `reason` of capstan_gradients_rejected_total.
std::string_view LabelOf(Rejection reason);

// Attaches to `status`, an error, the reason why the request was refused.
absl::Status WithReason(absl::Status status, Rejection reason);
// Returns why a request that ended with `status`, an error, was refused: the attached reason if
// there is one, otherwise the reason that corresponds to the code.
Rejection ReasonOf(const absl::Status& status);

// Returns why a gradient with this outcome was not applied; nullopt if it was or will be applied.
std::optional<Rejection> ReasonOf(v1::Outcome outcome);

// Returns the status of a request for which the shard has no memory at present: RESOURCE_EXHAUSTED,
// with a hint to retry a little later.
inline absl::Status NoRoom(const std::string& message) {
  return WithReason(WithRetryAfter(absl::ResourceExhaustedError(message), kNoRoomHint),
                    Rejection::kMemory);
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_REJECTION_H_
