// Encodes and decodes the state of a partition's protocol in a checkpoint.
#ifndef CAPSTAN_PS_PARTITION_MACHINE_STATE_H_
#define CAPSTAN_PS_PARTITION_MACHINE_STATE_H_

#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_file.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

MachineState EncodeMachineState(const PartitionState& state);

// DATA_LOSS: `state` cannot be read. FAILED_PRECONDITION: a newer version has written it.
absl::StatusOr<PartitionState> DecodeMachineState(const MachineState& state);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_MACHINE_STATE_H_
