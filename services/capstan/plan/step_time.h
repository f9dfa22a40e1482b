// Computes how long a step takes, and which resource limits it. A pure function.
//
// A stage of a synchronous round (pull, compute, push, apply) takes as long as the resource that it
// keeps busy longest: the network of a worker, the network of the busiest shard, or the cores of
// either; on one machine the cores, shared by all. It takes at least the time of one batch's calls,
// each of which passes worker, network and shard in turn. The stages follow one another; if a
// trainer holds several lanes, one lane is computed while another is pulled or pushed. At the end
// the round waits for the slowest lane.
//
// Without rounds a trainer computes a batch while it pushes the previous one and pulls for the next
// one, so a step takes the longer of both. If all trainers together need more of a resource than
// there is, a step is longer by a wait.
#ifndef CAPSTAN_PLAN_STEP_TIME_H_
#define CAPSTAN_PLAN_STEP_TIME_H_

#include <string>
#include <vector>

#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The seconds of a step, excluding times that overlap with others.
struct StepTime {
  double compute = 0;
  double pull = 0;
  double push = 0;
  double apply = 0;
  double wait = 0;
  double total() const { return compute + pull + push + apply + wait; }
};

// A resource, and for how many seconds of a step it is busy.
struct Load {
  std::string what;
  double seconds = 0;
};

struct Pace {
  StepTime step;            // The time of a round, or of a trainer's batch.
  std::vector<Load> loads;  // In descending order: the first is the bottleneck.
  double batches_per_second = 0;
};

// Returns the pace of a job; `traffic` is that of one batch. REQUIRES: `job` has its tables and
// tensors.
Pace PaceOf(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale, const Rates& rates,
            const BatchTime& batch);

// Returns the CPU seconds that one batch costs a worker, and all shards together, without computing
// and reading it.
Ends CpuOfTransfers(const v1::JobSpec& job, const Traffic& traffic, int shards, const Rates& rates);

// Returns the expected value of the `rank`-th smallest of `count` standard normal numbers (Blom's
// approximation). REQUIRES: 1 <= rank <= count.
double NormalRank(uint64_t rank, uint64_t count);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_STEP_TIME_H_
