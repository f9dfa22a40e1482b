#include "chief/shell/job_planning.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/measure_data.h"
#include "capstan/data/tasks/tasks.h"
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
  CAPSTAN_RETURN_IF_ERROR(CheckFirstRecords(*NewDataFiles(), spec));
  return PlanOf(std::move(spec));
}

absl::Status MeasureJob(v1::JobSpec& spec) {
  if (!LacksMeasures(spec.data())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(MeasureData(*NewDataFiles(), *spec.mutable_data()));
  const v1::DataSpec& data = spec.data();
  const auto say = [](const std::string& what, double mean, double deviation) {
    log::Info("standardized", {{"what", what}, {"mean", mean}, {"deviation", deviation}});
  };
  if (data.standardize_label()) say("label", data.label_mean(), data.label_deviation());
  for (const v1::ColumnSpec& column : data.numeric()) {
    if (column.transform() != v1::NUMERIC_TRANSFORM_STANDARD) continue;
    say(absl::StrCat("column ", column.column()), column.mean(), column.deviation());
  }
  return absl::OkStatus();
}

}  // namespace capstan::chief
