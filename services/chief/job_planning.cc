#include "chief/job_planning.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/data/source.h"
#include "capstan/data/tasks.h"
#include "capstan/model/layout.h"

namespace capstan::chief {

absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path,
                                    const std::vector<std::string>& overrides) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec spec,
                           LoadJob(path, {.overrides = overrides, .default_lanes = 1}));
  const std::unique_ptr<const Source> source = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*source, *spec.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(spec));
  return spec;
}

absl::StatusOr<JobPlan> PlanOf(v1::JobSpec spec) {
  JobPlan plan{.spec = std::move(spec)};
  const v1::DataSpec& data = plan.spec.data();
  const std::unique_ptr<const Source> source = NewDataFiles();
  const uint32_t batch_size = plan.spec.train().batch_size();
  CAPSTAN_ASSIGN_OR_RETURN(
      plan.train, PlanTasks(*source, data, {.split = Split::kTrain, .batch_size = batch_size}));
  const bool synthetic = data.format() == v1::DATA_FORMAT_SYNTHETIC;
  if (synthetic ? data.synthetic().eval_rows() == 0 : data.eval().empty()) return plan;
  CAPSTAN_ASSIGN_OR_RETURN(
      plan.eval, PlanTasks(*source, data, {.split = Split::kEval, .batch_size = batch_size}));
  return plan;
}

absl::StatusOr<JobPlan> PlanJob(const std::string& path,
                                const std::vector<std::string>& overrides) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadJob(path, overrides));
  return PlanOf(std::move(spec));
}

}  // namespace capstan::chief
