// Where the rounds stand, as a coordinator tells it to the next one.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_START_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_START_H_

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/coordinator_machine.h"

namespace capstan::ps {

void ToProto(const CoordinatorState& state, v1::CoordinatorStart& proto);
void ToProto(const OpenRound& open, v1::OpenRoundState& proto);

// INVALID_ARGUMENT: its last round is malformed.
absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorStart& proto);
// With what is open. INVALID_ARGUMENT: also where it names no lane of the state's.
absl::StatusOr<CoordinatorState> CoordinatorStateFromProto(const v1::CoordinatorOperation& proto);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_START_H_
