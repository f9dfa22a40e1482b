// Computes what a job needs and how long it takes, before it runs, from the job's settings and the
// cost of a unit of work. A pure function.
#ifndef CAPSTAN_PLAN_PLAN_H_
#define CAPSTAN_PLAN_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/plan/memory.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/plan/step_time.h"
#include "capstan/plan/traffic.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct Plan {
  Traffic traffic;  // The traffic of one batch.
  Sizes sizes;
  Pace pace;
  double examples_per_second = 0;
  double epoch_seconds = 0;  // 0 if the number of records is not known.
  double store_seconds = 0;  // Time to write a full checkpoint, or to read it.
  // By which fraction examples_per_second grows with one more worker or shard: .01 is one percent.
  double more_by_a_worker = 0;
  double more_by_a_shard = 0;

  std::vector<std::string> refusals;  // Sentences: why the job cannot run like this.
  std::vector<std::string> warnings;
};

// Makes a plan. If a synchronous part has as many lanes as there are trainers, one more worker is
// assumed to add lanes. INVALID_ARGUMENT: the job cannot be laid out. REQUIRES: `job` has its
// tables and tensors.
absl::StatusOr<Plan> MakePlan(const v1::JobSpec& job, const DataFacts& facts, const Scale& scale,
                              const Rates& rates, const BatchTime& batch);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_PLAN_H_
