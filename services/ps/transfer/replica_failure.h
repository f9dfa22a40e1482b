// What a failed call to a backup tells of the backup, for people.
#ifndef CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_
#define CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_

#include <string_view>

#include "absl/status/status.h"

namespace capstan::ps {

// Returns true if the failed call says that the backup is of an earlier release, which takes
// nothing larger than a message. `in_pieces`: the call was ReplicatePiece, which brings that.
bool IsOfEarlierRelease(const absl::Status& failure, bool in_pieces);

// Returns a sentence of the log, which lasts as long as the process. REQUIRES: the call has failed.
std::string_view ReplicaFailure(const absl::Status& failure, bool in_pieces);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_
