#include "chief/duties/rest_duty.h"

#include "absl/strings/str_cat.h"

namespace capstan::chief {

void RestDuty::Advance(absl::Time now) {
  if (job_->end.begun()) return;
  const bool evaluates =
      job_->EvaluatesAtRest() && (job_->EvaluationDue() || job_->evaluations.running());
  const bool lanes = job_->work.has_lanes();
  GiveUpBest(now);
  if (!lanes && job_->moves.wants_quiet() && job_->rest.step == Rest::Step::kNone) return;
  const bool saves = lanes && job_->checkpointer.running() && !job_->checkpointer.marked();
  const bool switches = lanes && job_->moves.wants_quiet();
  if (evaluates || job_->rest.save || saves || switches || (lanes && job_->CheckpointWanted(now))) {
    return Seek(now);
  }
  if (job_->AtRest()) job_->Resume();
}

// The store may be away for long: then training is worth more than these parameters.
void RestDuty::GiveUpBest(absl::Time now) {
  if (!job_->rest.save || job_->checkpointer.running() || now < job_->rest.save_until ||
      job_->checkpointer.failures_in_a_row() < job_->options.save_attempts) {
    return;
  }
  job_->rest.save = false;
  job_->outbox.Warn("best model",
                    absl::StrCat("the best model so far, of ", job_->rest.evaluation->examples(),
                                 " examples, could not be saved, and is lost for the result: ",
                                 job_->checkpointer.last_failure().ToString()));
}

void RestDuty::Seek(absl::Time now) {
  if (job_->work.has_lanes()) {
    // Whoever leaves finishes no round.
    const bool rounds_close = job_->LeavingShards().empty() && !job_->closed;
    const absl::Duration deadline =
        rounds_close ? job_->options.call_deadline : job_->options.leaving_deadline;
    return job_->barrier.Seek(job_->views.coordinator(), deadline, job_->calls);
  }
  if (job_->rest.step == Rest::Step::kNone) {
    job_->rest.step = Rest::Step::kDrain;
    job_->TakeLeasesBack();
  }
  if (job_->rest.step == Rest::Step::kDrain && job_->Drained(now)) {
    job_->rest.step = Rest::Step::kFlush;
    job_->FlushShards();
  }
  if (job_->rest.step == Rest::Step::kFlush && !job_->calls.Pending(Purpose::kFlush)) {
    job_->rest.step = Rest::Step::kReached;
  }
}

}  // namespace capstan::chief
