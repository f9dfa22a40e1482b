// Plans the tasks of an evaluation, set by set of its held-out records
// (capstan/config/eval_sets.h).
#ifndef CAPSTAN_DATA_TASKS_PLAN_EVAL_SETS_H_
#define CAPSTAN_DATA_TASKS_PLAN_EVAL_SETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct EvalTasks {
  TaskRanges ranges;  // The ranges of one set after another; empty if nothing is held out.
  std::vector<uint32_t> ends = {};  // For each set, the index after its last range.
};

// Plans each evaluation set separately, as PlanTasks (tasks.h) plans the split kEval. Errors as for
// PlanTasks.
absl::StatusOr<EvalTasks> PlanEvalSets(const Source& source, const v1::DataSpec& data,
                                       PlanOptions options);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_PLAN_EVAL_SETS_H_
