// Whether a job's policies divide its work into lanes of rounds, or into streams of tasks, or both.
// Pure functions.
#ifndef CAPSTAN_CONSISTENCY_JOB_LANES_H_
#define CAPSTAN_CONSISTENCY_JOB_LANES_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// REQUIRES: `spec` has its tables and tensors. The policy of a part that the model does not have
// (no tensors, or no tables) is ignored.

// Returns true if at least one part uses synchronous rounds.
bool UsesLanes(const v1::JobSpec& spec);

// Returns the number of lanes of a round; 1 if the job has no rounds.
uint32_t LaneCount(const v1::JobSpec& spec);

// Returns true if at least one part identifies pushes by streams, which have to be closed.
bool UsesStreams(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_JOB_LANES_H_
