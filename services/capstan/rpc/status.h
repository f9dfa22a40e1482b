// Between the two worlds of statuses: absl::Status inside, grpc::Status at the door. The codes are
// the same numbers on both sides.
#ifndef CAPSTAN_RPC_STATUS_H_
#define CAPSTAN_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace capstan {

grpc::Status ToGrpcStatus(const absl::Status& status);
[[nodiscard]] absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace capstan

#endif  // CAPSTAN_RPC_STATUS_H_
