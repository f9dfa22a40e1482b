// What a job needs and how long it takes, before anything runs: from the job's own arithmetic and
// what a unit of work costs. A pure function.
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
  double epoch_seconds = 0;  // 0: it is not known how many records there are.
  double store_seconds = 0;  // Writing a full checkpoint, or reading it again.
  // Examples a second with one more, as a part of those now: .01 is one percent more.
  double more_by_a_worker = 0;
  double more_by_a_shard = 0;

  std::vector<std::string> refusals;  // In words: why the job cannot run so.
  std::vector<std::string> warnings;
};

// `job` has its tables and tensors. Where a synchronous part has as many lanes as there are
// trainers, one more worker brings lanes with it. INVALID_ARGUMENT: the job cannot be laid out.
absl::StatusOr<Plan> MakePlan(const v1::JobSpec& job, const DataFacts& facts, const Scale& scale,
                              const Rates& rates, const BatchTime& batch);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_PLAN_H_
