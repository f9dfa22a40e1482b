#include "chief/shell/job_planning.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/client/share_limit.h"
#include "capstan/config/config.h"
#include "capstan/consistency/decisions.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/measure_data.h"
#include "capstan/data/tasks/plan_eval_sets.h"
#include "capstan/data/tasks/row_estimate.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/layout.h"
#include "chief/shell/job_difference.h"
#include "chief/shell/job_store.h"

namespace capstan::chief {
namespace {

absl::StatusOr<TaskRanges> TasksOfStore(const v1::JobSpec& spec) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<JobStore> store,
                           JobStore::Open(spec.checkpoint().uri(), spec.job()));
  CAPSTAN_ASSIGN_OR_RETURN(const std::optional<v1::ChiefState> state, store->ReadState());
  if (!state || state->state() == v1::JOB_STATE_PENDING) return TaskRanges();
  v1::JobSpec measured = spec;
  if (LacksMeasures(spec.data())) AdoptMeasures(state->job().data(), *measured.mutable_data());
  const bool same =
      JobDifference(state->job(), measured).empty() || WantsMoreEpochs(state->job(), measured);
  if (!same) return TaskRanges();
  return store->ReadTasks(state->progress().tasks_fingerprint());
}

// Returns the training tasks with which the job has begun, if its files are unchanged since then.
// Returns an empty list if the tasks have to be made, which will report any error again.
TaskRanges BegunTasks(const v1::JobSpec& spec) {
  if (spec.checkpoint().uri().empty()) return {};
  absl::StatusOr<TaskRanges> tasks = TasksOfStore(spec);
  if (!tasks.ok() || tasks->empty()) return {};
  const absl::StatusOr<bool> fit = StillFit(*NewDataFiles(), spec.data(), Split::kTrain, *tasks);
  if (!fit.ok() || !*fit) return {};
  log::Info("the data are as they were when the job began", {{"tasks", tasks->size()}});
  return *std::move(tasks);
}

// Returns how many keys a batch has, which determines the memory of waiting gradients; 0 if no
// policy makes gradients wait.
uint64_t KeysABatch(const v1::JobSpec& spec, const TaskRanges& train) {
  if (!GathersGradients(spec.dense_update()) && !GathersGradients(spec.sparse_update())) return 0;
  return EstimateRows(spec, *NewDataFiles(), train).keys_a_batch;
}

// `train` contains the training tasks if they are known, or is empty.
absl::StatusOr<JobPlan> Plan(v1::JobSpec spec, TaskRanges train, const PlanProgress& progress) {
  JobPlan plan{.spec = std::move(spec), .train = std::move(train)};
  const v1::DataSpec& data = plan.spec.data();
  const std::unique_ptr<const Source> source = NewDataFiles();
  const PlanOptions options{
      .split = Split::kTrain, .batch_size = plan.spec.train().batch_size(), .progress = progress};
  if (plan.train.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(plan.train, PlanTasks(*source, data, options));
    plan.keys_a_batch = KeysABatch(plan.spec, plan.train);
  }
  CAPSTAN_ASSIGN_OR_RETURN(EvalTasks eval, PlanEvalSets(*source, data, options));
  plan.eval = std::move(eval.ranges);
  plan.eval_ends = std::move(eval.ends);
  return plan;
}

}  // namespace

absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path,
                                    const std::vector<std::string>& overrides) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec spec,
                           LoadJob(path, {.overrides = overrides, .default_lanes = 1}));
  const std::unique_ptr<const Source> source = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*source, *spec.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(spec));
  CAPSTAN_RETURN_IF_ERROR(CheckDenseShares(spec));
  return spec;
}

absl::StatusOr<JobPlan> PlanOf(v1::JobSpec spec) {
  TaskRanges begun = BegunTasks(spec);
  return Plan(std::move(spec), std::move(begun), nullptr);
}

absl::StatusOr<JobPlan> PlanJob(const std::string& path, const std::vector<std::string>& overrides,
                                const PlanProgress& progress) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadJob(path, overrides));
  TaskRanges begun = BegunTasks(spec);
  // The data of a job that has begun were checked then.
  if (begun.empty()) CAPSTAN_RETURN_IF_ERROR(CheckFirstRecords(*NewDataFiles(), spec));
  return Plan(std::move(spec), std::move(begun), progress);
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
