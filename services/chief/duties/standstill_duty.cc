#include "chief/duties/standstill_duty.h"

#include "absl/strings/str_cat.h"

namespace capstan::chief {

void StandstillDuty::Advance(absl::Time now) {
  if (job_->training.end.begun()) return;
  const bool evaluates = job_->EvaluatesAtStandstill() &&
                         (job_->training.EvaluationDue() || job_->training.evaluations.running());
  const bool lanes = job_->training.work.has_lanes();
  GiveUpBest(now);
  if (!lanes && job_->placement.moves.wants_quiet() &&
      job_->training.standstill.step == Standstill::Step::kNone)
    return;
  const bool saves =
      lanes && job_->checkpoints.checkpointer.running() && !job_->checkpoints.checkpointer.marked();
  const bool switches = lanes && job_->placement.moves.wants_quiet();
  if (evaluates || job_->training.standstill.save || saves || switches || LastRoundIsTold() ||
      (lanes && job_->CheckpointWanted(now))) {
    return Seek(now);
  }
  if (job_->training.AtStandstill()) job_->Resume();
}

// Returns true if workers say that the last round of max_steps is closed. A worker may be wrong, or
// lie, so training stands still to ask the coordinator.
bool StandstillDuty::LastRoundIsTold() const {
  const uint64_t max_steps = job_->plan.spec.train().max_steps();
  return max_steps > 0 && job_->training.work.has_lanes() && !job_->training.AtStandstill() &&
         job_->training.work.totals().steps >= max_steps;
}

void StandstillDuty::OnAnswer(const ShardCalls::Answer& answer) {
  if (!answer.IsTo<v1::HoldRoundsRequest>()) return;
  job_->training.barrier.OnHeld(answer.reply->Get<v1::HoldRoundsReply>(), job_->placement.Owners(),
                                job_->options.call_deadline, job_->calls);
}

void StandstillDuty::SeeBarrier() {
  if (job_->training.barrier.OnCommitted(job_->calls))
    job_->training.work.lanes()->TakeCursors(job_->training.barrier.held());
}

// If the store is unavailable for long, continues training without having saved the best
// parameters.
void StandstillDuty::GiveUpBest(absl::Time now) {
  if (!job_->training.standstill.save || job_->checkpoints.checkpointer.running() ||
      now < job_->training.standstill.save_until ||
      job_->checkpoints.checkpointer.failures_in_a_row() < job_->options.save_attempts) {
    return;
  }
  job_->training.standstill.save = false;
  job_->outbox.Warn(
      "best model",
      absl::StrCat("the best model so far, of ", job_->training.standstill.evaluation->examples(),
                   " examples, could not be saved, and is lost for the result: ",
                   job_->checkpoints.checkpointer.last_failure().message()));
}

void StandstillDuty::Seek(absl::Time now) {
  if (job_->training.work.has_lanes()) {
    // No round closes while a shard leaves, so the coordinator need not wait long for the open one.
    const bool rounds_close = job_->placement.LeavingShards().empty() && !job_->checkpoints.closed;
    const absl::Duration deadline =
        rounds_close ? job_->options.call_deadline : job_->options.leaving_deadline;
    return job_->training.barrier.Seek(job_->placement.views.coordinator(), deadline, job_->calls);
  }
  if (job_->training.standstill.step == Standstill::Step::kNone) {
    job_->training.standstill.step = Standstill::Step::kDrain;
    job_->training.TakeLeasesBack();
  }
  if (job_->training.standstill.step == Standstill::Step::kDrain && job_->Drained(now)) {
    job_->training.standstill.step = Standstill::Step::kFlush;
    job_->FlushShards();
  }
  if (job_->training.standstill.step == Standstill::Step::kFlush &&
      !job_->calls.Pending<v1::FlushRequest>()) {
    job_->training.standstill.step = Standstill::Step::kReached;
  }
}

}  // namespace capstan::chief
