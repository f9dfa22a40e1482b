// Decides whether a failed call should be retried unchanged.
#ifndef CAPSTAN_BASE_WORTH_REPEATING_H_
#define CAPSTAN_BASE_WORTH_REPEATING_H_

#include "absl/status/status.h"

namespace capstan {

// Returns true if the peer is unavailable or busy, or the connection was lost before an answer
// came: gRPC reports calls that were reset, by the peer or on the way, also as CANCELLED, UNKNOWN
// or INTERNAL. Returns false for OK, and for errors by which the peer rejects the request itself.
inline bool IsWorthRepeating(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_WORTH_REPEATING_H_
