// How many workers a job could use now, for an autoscaler.
#ifndef CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
#define CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_

#include <cstdint>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns 0 when the job has ended; otherwise at least 1, and at most the number of workers that
// can have work at one time, which is limited by the lanes, or the unfinished tasks. Below that the
// shards decide: the result is the number of workers that would load the busiest shard to four
// fifths of the CPU time available to it, assuming that each costs it what it does now (the
// proportional rule of Kubernetes' HorizontalPodAutoscaler, applied to the shards), and at most
// twice the present workers. While the job is not RUNNING the load of the shards has no meaning,
// and the result is the number of present workers.
//
// It does not see when a network or an object store is the bottleneck. The autoscaler's own maximum
// has to account for that.
uint64_t RecommendedWorkers(const v1::GetStatusReply& status, const v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
