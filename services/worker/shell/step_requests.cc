#include "worker/shell/step_requests.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "capstan/consistency/decisions.h"
#include "capstan/consistency/staleness.h"

namespace capstan::worker {
namespace {

RoundName NameOf(const LaneName& lane) {
  return {.round = lane.round, .closed = lane.closed.get()};
}

// Not step.tables.size(): a step of a job without tables has one table without rows.
size_t TablesOf(const v1::JobSpec& job) { return static_cast<size_t>(job.tables_size()); }

}  // namespace

StepPull::StepPull(const v1::JobSpec& job, std::shared_ptr<Step> step, const SendPull& action,
                   bool frozen)
    : step_(std::move(step)), action_(action) {
  const bool judged = !action.evaluation && CountsRowUpdates(job.sparse_update());
  for (size_t i = 0; i < TablesOf(job); ++i) {
    rows_.push_back(step_->tables[i].rows.data());
    if (judged) versions_.push_back(step_->tables[i].row_versions.data());
  }
  options_ = {.clock = action_.clock,
              .evaluation = action_.evaluation,
              .frozen = frozen,
              .timeout = kPullTimeout,
              .answered = &step_->pulled};
  if (action_.lane) options_.round = NameOf(*action_.lane);
  target_ = {.rows = rows_,
             .dense = step_->parameters.data(),
             .versions = &step_->versions,
             .row_versions = versions_};
}

StepPush::StepPush(const v1::JobSpec& job, std::shared_ptr<Step> step, const SendPush& action,
                   const JobProgress& progress)
    : step_(std::move(step)), action_(action) {
  for (size_t i = 0; i < TablesOf(job); ++i) {
    rows_.push_back(step_->tables[i].row_gradients.data());
    const StepTable& table = step_->tables[i];
    pulled_rows_.push_back(step_->keeps_pulled ? table.kept_rows.data() : table.rows.data());
    versions_.push_back(step_->tables[i].row_versions.data());
  }
  options_ = {.clock = action_.clock,
              .empty = action_.empty,
              .stream = action_.stream,
              .examples = static_cast<uint32_t>(step_->batch->examples()),
              .progress = progress,
              .timeout = kPushTimeout,
              .answered = &step_->pushed};
  if (const std::optional<LaneName>& stage = action_.stage) {
    options_.stage = StageName{stage->lane, stage->generation, NameOf(*stage)};
  }
  source_ = {
      .rows = rows_, .dense = step_->parameter_gradients.data(), .versions = &step_->versions};
  if (CountsRowUpdates(job.sparse_update())) source_.row_versions = versions_;
  if (Compensates(job)) {
    source_.pulled_rows = pulled_rows_;
    source_.pulled_dense =
        step_->keeps_pulled ? step_->kept_parameters.data() : step_->parameters.data();
  }
}

}  // namespace capstan::worker
