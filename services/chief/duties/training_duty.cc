#include "chief/duties/training_duty.h"

#include <algorithm>
#include <optional>

#include "capstan/model/oddness.h"
#include "chief/machines/applied_batches.h"

namespace capstan::chief {

void TrainingDuty::Advance(absl::Time now) {
  const WorkTotals totals = job_->training.work.totals();
  const RoundBarrier& barrier = job_->training.barrier;
  const uint64_t steps =
      barrier.reached() ? barrier.round() : std::max(totals.steps, barrier.round());
  if (totals.examples != job_->training.progress.examples() ||
      steps != job_->training.progress.steps())
    job_->writer.Note();
  job_->training.progress.Update(totals.examples, steps, now);
  job_->outbox.Warn("training loss",
                    OddLoss(job_->plan.spec, job_->training.progress.loss().value_or(0),
                            job_->training.progress.least_loss()));
  const uint64_t max_steps = job_->plan.spec.train().max_steps();
  if (!job_->stop.empty()) job_->BeginEnd(job_->stop);
  if (job_->training.work.all_done()) {
    job_->training.progress.Settle(totals.examples);
    job_->BeginEnd("");
  }
  if (max_steps > 0 && steps >= max_steps && SureSteps(steps) >= max_steps) job_->BeginEnd("");
}

// Returns how many of the `steps` that workers report are confirmed by others. In a job with lanes
// only the coordinator confirms them. It is asked once workers report that the last round is
// closed: see StandstillDuty. In other jobs shards report in their heartbeats what they have
// applied.
uint64_t TrainingDuty::SureSteps(uint64_t steps) const {
  if (job_->training.work.has_lanes()) return job_->training.barrier.round();
  const std::optional<uint64_t> applied =
      MostBatchesApplied(job_->plan.spec, job_->placement.shards, job_->placement.views.current());
  return std::min(steps, applied.value_or(steps));
}

void TrainingDuty::DrawCurve(absl::Time now) {
  if (job_->state != v1::JOB_STATE_RUNNING || !job_->training.progress.loss()) return;
  if (job_->training.progress.TakeCurveDue(now)) job_->AddCurvePoint({}, now);
}

}  // namespace capstan::chief
