#include "chief/duties/evaluation_duty.h"

#include <utility>

#include "capstan/model/oddness.h"
#include "chief/work/evaluation_log.h"

namespace capstan::chief {

void EvaluationDuty::Advance(absl::Time now) {
  if (job_->training.evaluations.complete()) Take(now);
  if (!job_->training.EvaluationDue()) return;
  if (!job_->EvaluatesAtStandstill())
    return job_->training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now);
  // A switch of moved partitions that waits for the same barrier has priority.
  const bool switches = job_->training.work.has_lanes() && job_->placement.moves.wants_quiet();
  if (job_->training.AtStandstill() && !switches)
    job_->training.BeginEvaluation(/*at_barrier=*/true, /*final=*/false, now);
}

void EvaluationDuty::Take(absl::Time now) {
  const v1::Evaluation evaluation = job_->training.evaluations.Take();
  job_->AddCurvePoint(evaluation, now);
  for (LogFields& fields : EvaluationLogFields(evaluation)) {
    job_->outbox.Log(LogEvent::Level::kInfo, "evaluated", std::move(fields));
  }
  job_->outbox.Warn("evaluation", "");
  job_->outbox.Warn("held out", OddEvaluation(job_->plan.spec.model(), evaluation));
  job_->writer.Note();
  if (evaluation.at_round_boundary()) job_->training.standstill.evaluation = evaluation;
  if (evaluation.final()) return;
  job_->outbox.Warn("early stop", job_->training.early_stop.Lack(evaluation));
  const auto& metrics = evaluation.metrics();
  job_->training.standstill.save =
      job_->training.standstill.evaluation && job_->checkpoints.checkpointer.enabled() &&
      !job_->plan.spec.train().early_stop().metric().empty() &&
      job_->checkpoints.catalog.Surpasses({metrics.begin(), metrics.end()});
  job_->training.standstill.save_until = now + job_->options.save_patience;
  if (std::optional<std::string> stop = job_->training.early_stop.Add(evaluation))
    job_->stop = *stop;
  if (!job_->stop.empty()) job_->BeginEnd(job_->stop);
}

}  // namespace capstan::chief
