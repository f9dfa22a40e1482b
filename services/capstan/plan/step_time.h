// How long a step takes, and what keeps it from being shorter. A pure function.
//
// A stage of a synchronous round (pull, compute, push, apply) is as long as what it uses longest:
// the network of a worker, the network of the busiest shard, the cores of either; on one machine
// its cores, shared by all. It is no shorter than one batch's calls, each of which passes worker,
// network and shard in turn. The stages follow one another; where a trainer holds several lanes,
// one is computed while another is pulled or pushed. Then the round waits for the slowest lane.
//
// Elsewhere a trainer computes a batch while it pushes the last one and pulls for the next one, so
// a step is the longer of both, unless all trainers together ask more of something than it can do:
// then a step is longer by a wait.
#ifndef CAPSTAN_PLAN_STEP_TIME_H_
#define CAPSTAN_PLAN_STEP_TIME_H_

#include <string>
#include <vector>

#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Seconds, as far as they are not hidden behind others.
struct StepTime {
  double compute = 0;
  double pull = 0;
  double push = 0;
  double apply = 0;
  double wait = 0;
  double total() const { return compute + pull + push + apply + wait; }
};

// What is busy for so many seconds of a step.
struct Load {
  std::string what;
  double seconds = 0;
};

struct Pace {
  StepTime step;            // The time of a round, or of a trainer's batch.
  std::vector<Load> loads;  // The longest first: the bottleneck.
  double batches_per_second = 0;
};

// `job` has its tables and tensors; `traffic` is that of one batch.
Pace PaceOf(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale, const Rates& rates,
            const BatchTime& batch);

// CPU seconds of a worker and of all shards together for one batch, beside computing and reading
// it.
Ends CpuOfTransfers(const v1::JobSpec& job, const Traffic& traffic, int shards, const Rates& rates);

// How many deviations above the mean the `rank`-th of `count` normal numbers lies, as is to be
// expected (Blom's approximation). REQUIRES: 1 <= rank <= count.
double NormalRank(uint64_t rank, uint64_t count);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_STEP_TIME_H_
