#include "capstan/rpc/status.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace capstan {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status WithRetryAfter(absl::Status status, absl::Duration wait) {
  status.SetPayload(kRetryHint, absl::Cord(absl::StrCat(absl::ToInt64Milliseconds(wait))));
  return status;
}

absl::Duration RetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> hint = status.GetPayload(kRetryHint);
  int64_t millis = 0;
  if (!hint || !absl::SimpleAtoi(std::string(*hint), &millis)) return absl::ZeroDuration();
  return std::clamp(absl::Milliseconds(millis), absl::ZeroDuration(), kLongestRetryHint);
}

}  // namespace capstan
