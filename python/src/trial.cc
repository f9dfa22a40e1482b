#include "python/src/trial.h"

#include <utility>

#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/data/tasks/measure_data.h"
#include "capstan/data/tasks/plan_eval_sets.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/declaration.h"
#include "capstan/model/layout.h"
#include "capstan/placement/placement.h"

namespace capstan::worker {
namespace {

constexpr Timeline kTimeline{1};

}  // namespace

absl::StatusOr<std::unique_ptr<Trial>> Trial::Open(const std::string& path, UserProgram& program) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec job, LoadJob(path, {.default_lanes = 1}));
  std::unique_ptr<const Source> source = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*source, *job.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(job));
  if (LacksMeasures(job.data())) {
    CAPSTAN_RETURN_IF_ERROR(MeasureData(*source, *job.mutable_data()));
  }
  std::unique_ptr<Trial> trial(new Trial(std::move(job), std::move(source)));
  CAPSTAN_ASSIGN_OR_RETURN(trial->computer_, program.NewComputer(trial->job_, {}, trial->loop_));
  CAPSTAN_RETURN_IF_ERROR(trial->Plan());
  return trial;
}

Trial::Trial(v1::JobSpec job, std::unique_ptr<const Source> source)
    : job_(std::move(job)), source_(std::move(source)), reader_(ReaderOptionsOf(job_), *source_) {}

absl::Status Trial::Plan() {
  const PlanOptions options{.batch_size = job_.train().batch_size()};
  CAPSTAN_ASSIGN_OR_RETURN(TaskRanges train, PlanTasks(*source_, job_.data(), options));
  mix_.emplace(std::move(train), job_.data(), job_.seed());
  trained_.tasks = mix_->size();
  CAPSTAN_ASSIGN_OR_RETURN(EvalTasks eval, PlanEvalSets(*source_, job_.data(), options));
  held_out_tasks_ = std::move(eval.ranges);
  held_out_.tasks = static_cast<uint32_t>(held_out_tasks_.size());
  for (const v1::TableSpec& table : job_.tables()) {
    CAPSTAN_ASSIGN_OR_RETURN(tables_.emplace_back(), Table::Create(table, job_.partition_count()));
  }
  return absl::OkStatus();
}

absl::Status Trial::Declare(DeclaredModel model) {
  CAPSTAN_RETURN_IF_ERROR(CheckDeclaration(model.declaration));
  CAPSTAN_RETURN_IF_ERROR(CheckNamesInExports(model.declaration, job_));
  CAPSTAN_RETURN_IF_ERROR(CheckGroups(model.declaration, job_));
  CAPSTAN_RETURN_IF_ERROR(CheckFinite(model.declaration, model.values));
  AddTensors(model.declaration, job_);
  CAPSTAN_ASSIGN_OR_RETURN(map_, ParameterMap::Create(job_));
  steps_.emplace(*map_, TablesOfFeatures(job_));
  model_ = std::move(model);
  return absl::OkStatus();
}

absl::StatusOr<bool> Trial::Submit(Feed& feed, Computer::Kind kind) {
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<Batch> batch,
                           Read(feed, kind == Computer::Kind::kLogits));
  if (batch == nullptr) return false;
  while (loop_.Poll(absl::ZeroDuration())) {
  }  // What is finished goes back.
  const std::vector<uint32_t> owners = FirstShardMap(map_->partition_count(), 1);
  std::shared_ptr<Step> step = steps_->Take(std::move(batch), owners);
  step->stream = StreamId::Task(/*data_epoch=*/0, feed.task - 1);
  step->seq = feed.batch;
  steps_->Lend(*step, kTimeline);
  step->parameters.assign(model_.values.begin(), model_.values.end());
  FillRows(*step);
  computer_->Submit(std::move(step), kind, [] {});
  return true;
}

absl::StatusOr<std::shared_ptr<Batch>> Trial::Read(Feed& feed, bool evaluation) {
  while (feed.loaded == nullptr || feed.batch == feed.loaded->batch_count()) {
    if (feed.task == feed.tasks) return nullptr;
    v1::Task task = evaluation ? held_out_tasks_[feed.task].ToTask(feed.task)
                               : mix_->TaskAt(/*epoch=*/0, feed.task);
    CAPSTAN_ASSIGN_OR_RETURN(feed.loaded,
                             reader_.Read({.task = std::move(task), .evaluation = evaluation}));
    ++feed.task;
    feed.batch = 0;
  }
  auto batch = std::make_shared<Batch>();
  CAPSTAN_RETURN_IF_ERROR(feed.loaded->ReadBatch(feed.batch++, *batch));
  return batch;
}

void Trial::FillRows(Step& step) const {
  for (size_t i = 0; i < tables_.size(); ++i) {
    const std::vector<uint64_t>& keys = step.tables[i].keys.unique;
    tables_[i]->Pull({keys.data(), keys.size()}, step.tables[i].rows.data());
  }
}

}  // namespace capstan::worker
