#include "chief/duties/training_duty.h"

#include <algorithm>

#include "capstan/model/oddness.h"

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
  // In a job with lanes only the coordinator's word counts. It is asked once workers say that the
  // last round is closed: see StandstillDuty.
  const uint64_t sure = job_->training.work.has_lanes() ? barrier.round() : steps;
  if (max_steps > 0 && sure >= max_steps) job_->BeginEnd("");
}

void TrainingDuty::DrawCurve(absl::Time now) {
  if (job_->state != v1::JOB_STATE_RUNNING || !job_->training.progress.loss()) return;
  if (job_->training.progress.TakeCurveDue(now)) job_->AddCurvePoint({}, now);
}

}  // namespace capstan::chief
