// How many workers a job could use now, for an autoscaler.
#ifndef CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
#define CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_

#include <cstdint>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns 0 when the job has ended; otherwise at least 1, and never more than can have work at one
// time, which is bounded by the lanes, or the tasks that are not done. Below that the shards
// decide: as many workers as keep the busiest shard at four fifths of the CPU time that it may use,
// if each costs it what it does now (the proportional rule of Kubernetes' HorizontalPodAutoscaler,
// applied to the shards), and at most twice the present workers. While the job is not RUNNING the
// load of the shards tells nothing, and the result is the number of present workers.
//
// It does not see a network or an object store that is the bottleneck. The maximum that the
// autoscaler is given is for that.
uint64_t RecommendedWorkers(const v1::GetStatusReply& status, const v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
