// How a job's policies divide its work: lanes of rounds, or streams of tasks. Pure functions.
#ifndef CAPSTAN_CONSISTENCY_JOB_LANES_H_
#define CAPSTAN_CONSISTENCY_JOB_LANES_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// `spec` has its tables and tensors. A model without tensors, or without tables, has no such part,
// whatever its policy says.

// True where this policy, or the other part's, works in rounds.
bool UsesLanes(const v1::JobSpec& spec);

// The lanes of a round; 1 where there are none.
uint32_t LaneCount(const v1::JobSpec& spec);

// True where some part's pushes are named by streams, which want to be closed.
bool UsesStreams(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_JOB_LANES_H_
