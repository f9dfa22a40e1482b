#include "capstan/data/tasks/plan_eval_sets.h"

#include <utility>

#include "capstan/base/status.h"
#include "capstan/config/eval_sets.h"

namespace capstan {

absl::StatusOr<EvalTasks> PlanEvalSets(const Source& source, const v1::DataSpec& data,
                                       PlanOptions options) {
  options.split = Split::kEval;
  if (!HasHeldOut(data)) return EvalTasks();
  std::vector<v1::TaskRun> runs;
  std::vector<uint32_t> ends;
  uint32_t end = 0;
  for (const EvalFiles& set : EvalSetsOf(data)) {
    v1::DataSpec part = data;
    part.mutable_eval()->Assign(set.files.begin(), set.files.end());
    CAPSTAN_ASSIGN_OR_RETURN(const TaskRanges ranges, PlanTasks(source, part, options));
    runs.insert(runs.end(), ranges.runs().begin(), ranges.runs().end());
    ends.push_back(end += ranges.size());
  }
  return EvalTasks{.ranges = TaskRanges(std::move(runs)), .ends = std::move(ends)};
}

}  // namespace capstan
