#include "capstan/placement/view_reader.h"

#include <utility>

#include "absl/status/status.h"
#include "capstan/base/status.h"
#include "capstan/placement/view_difference.h"

namespace capstan {

absl::StatusOr<v1::View> ViewReader::Read(v1::View message) {
  if (!message.has_difference()) {
    begun_ = true;
    last_ = std::move(message);
    return last_;
  }
  if (!begun_) {
    return absl::FailedPreconditionError(
        "a stream of views begins with a difference, where a whole view was expected");
  }
  CAPSTAN_ASSIGN_OR_RETURN(
      last_, ApplyDifference(last_, std::move(*message.mutable_difference()), most_bytes_));
  return last_;
}

}  // namespace capstan
