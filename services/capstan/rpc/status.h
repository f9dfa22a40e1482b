// Converts between absl::Status, which is used inside, and grpc::Status, which is used by RPCs. The
// codes are the same numbers on both sides.
#ifndef CAPSTAN_RPC_STATUS_H_
#define CAPSTAN_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace capstan {

grpc::Status ToGrpcStatus(const absl::Status& status);
[[nodiscard]] absl::Status FromGrpcStatus(const grpc::Status& status);

// A refusal may have a hint how long to wait before a retry. The hint is a payload of the
// absl::Status, and trailing metadata (kRetryHint, in milliseconds) on the wire. 0: no hint.
inline constexpr char kRetryHint[] = "grpc-retry-pushback-ms";
[[nodiscard]] absl::Status WithRetryAfter(absl::Status status, absl::Duration wait);
// Returns the hint, limited to kLongestRetryHint.
absl::Duration RetryAfter(const absl::Status& status);
// The longest time that a caller waits, whatever a peer says.
inline constexpr absl::Duration kLongestRetryHint = absl::Minutes(1);

}  // namespace capstan

#endif  // CAPSTAN_RPC_STATUS_H_
