#include "ps/transfer/replica_failure.h"

namespace capstan::ps {

bool IsOfEarlierRelease(const absl::Status& failure, bool in_pieces) {
  return in_pieces && absl::IsUnimplemented(failure);
}

std::string_view ReplicaFailure(const absl::Status& failure, bool in_pieces) {
  if (IsOfEarlierRelease(failure, in_pieces)) {
    return "a backup of an earlier release cannot take shares above 63 MiB until it is updated; "
           "until then, or until a view names another backup, what needs it waits";
  }
  return "a backup does not answer";
}

}  // namespace capstan::ps
