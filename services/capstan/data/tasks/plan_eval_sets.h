// Where each set of held-out records (capstan/config/eval_sets.h) lies among the tasks of an
// evaluation.
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
  TaskRanges ranges;                // One set after another; none: nothing is held out.
  std::vector<uint32_t> ends = {};  // One a set: the range after its last.
};

// As PlanTasks (tasks.h), of the split kEval, each set by itself.
absl::StatusOr<EvalTasks> PlanEvalSets(const Source& source, const v1::DataSpec& data,
                                       PlanOptions options);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_PLAN_EVAL_SETS_H_
