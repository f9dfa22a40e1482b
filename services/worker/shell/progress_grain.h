// How finely a job's progress has to be known, where shards follow it. A pure function.
#ifndef CAPSTAN_WORKER_SHELL_PROGRESS_GRAIN_H_
#define CAPSTAN_WORKER_SHELL_PROGRESS_GRAIN_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {

// Examples of the whole job within which neither a learning rate, the expiry of rows nor the way to
// max_steps moves by more than a small part of its course. 0: nothing follows progress that is
// told; the schedules of synchronous parts follow their rounds.
uint64_t ProgressGrain(const v1::JobSpec& job);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_PROGRESS_GRAIN_H_
