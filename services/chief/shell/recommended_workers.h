// How many workers a job could use now: what an autoscaler goes by.
#ifndef CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
#define CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_

#include <cstdint>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// 0 when the job has ended; otherwise at least 1, and never more than can have work at one time:
// its lanes, or the tasks that are not done. Below that the shards decide: as many workers as keep
// the busiest shard at four fifths of the CPU time that it may use, if each costs it what it does
// now (the proportional rule of Kubernetes' HorizontalPodAutoscaler, applied to who serves), and at
// most twice those that are there. While nothing is trained (a restart, a checkpoint for which
// training stops) the shards say nothing of that, and those that are there stay.
//
// What it does not see: a network, or an object store, that is the narrowest place. The
// autoscaler's own greatest number is for that.
uint64_t RecommendedWorkers(const v1::GetStatusReply& status, const v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_RECOMMENDED_WORKERS_H_
