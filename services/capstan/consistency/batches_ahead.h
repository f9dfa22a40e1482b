// How many batches a worker reads ahead of their use. Pure functions.
#ifndef CAPSTAN_CONSISTENCY_BATCHES_AHEAD_H_
#define CAPSTAN_CONSISTENCY_BATCHES_AHEAD_H_

#include <cstdint>

#include "capstan/consistency/job_lanes.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns how many batches all leases of a worker together may request ahead of time. The batch
// that a lease works on, or will next, does not count: with many lanes, these alone keep the
// threads of a worker busy.
inline uint64_t BatchesAhead(const v1::JobSpec& job) {
  return uint64_t{job.train().prefetch_batches()} * job.train().compute_threads();
}

// Returns how many batches of each lease are prepared beyond the last requested one. 0 for lanes: a
// lane requests its next batch as soon as it has reported one, and so has the time of a round to
// prepare it.
inline uint32_t BatchesCutAhead(const v1::JobSpec& job) {
  return UsesLanes(job) ? 0 : job.train().prefetch_batches();
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_BATCHES_AHEAD_H_
