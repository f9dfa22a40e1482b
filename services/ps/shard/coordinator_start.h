// Messages by which a coordinator sends the state of the rounds to the next coordinator, or to its
// backup.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_START_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_START_H_

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/coordinator_machine.h"

namespace capstan::ps {

void ToProto(const CoordinatorState& state, v1::CoordinatorStart& proto);
void ToProto(const OpenRound& open, v1::OpenRoundState& proto);

// INVALID_ARGUMENT: the last round commit is malformed.
absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorStart& proto);
// As above, with the open round. INVALID_ARGUMENT: also if the open round names a lane that the
// state does not have.
absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorOperation& proto);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_START_H_
