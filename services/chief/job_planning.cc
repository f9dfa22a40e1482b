#include "chief/job_planning.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/data/source.h"
#include "capstan/data/tasks.h"
#include "capstan/model/layout.h"

namespace capstan::chief {

absl::StatusOr<JobPlan> PlanJob(const std::string& path,
                                const std::vector<std::string>& overrides) {
  JobPlan plan;
  CAPSTAN_ASSIGN_OR_RETURN(plan.spec, LoadJob(path, {.overrides = overrides, .default_lanes = 1}));
  const std::unique_ptr<const Source> source = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*source, *plan.spec.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(plan.spec));
  const uint32_t batch_size = plan.spec.train().batch_size();
  CAPSTAN_ASSIGN_OR_RETURN(
      plan.train,
      PlanTasks(*source, plan.spec.data(), {.split = Split::kTrain, .batch_size = batch_size}));
  if (plan.spec.data().eval().empty() && plan.spec.data().format() != v1::DATA_FORMAT_SYNTHETIC) {
    return plan;
  }
  if (plan.spec.data().format() == v1::DATA_FORMAT_SYNTHETIC &&
      plan.spec.data().synthetic().eval_rows() == 0) {
    return plan;
  }
  CAPSTAN_ASSIGN_OR_RETURN(plan.eval, PlanTasks(*source, plan.spec.data(),
                                                {.split = Split::kEval, .batch_size = batch_size}));
  return plan;
}

}  // namespace capstan::chief
