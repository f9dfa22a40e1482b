// What a failed call to a backup means for the backup, in a sentence for people.
#ifndef CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_
#define CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_

#include <string_view>

#include "absl/status/status.h"

namespace capstan::ps {

// Returns true if the failed call shows that the backup runs an earlier version, which accepts
// nothing larger than a message. `in_pieces`: the call was ReplicatePiece, by which larger requests
// are sent.
bool IsOfEarlierRelease(const absl::Status& failure, bool in_pieces);

// Returns a sentence for the log, with static lifetime. REQUIRES: the call has failed.
std::string_view ReplicaFailure(const absl::Status& failure, bool in_pieces);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICA_FAILURE_H_
