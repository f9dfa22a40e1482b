#include "chief/duties/end_duty.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/failpoint.h"

namespace capstan::chief {
namespace {

constexpr char kNotEvaluated[] =
    "the model is complete, but could not be evaluated (`capstan evaluate` does it later): ";

EndStep Next(EndStep step) { return static_cast<EndStep>(static_cast<int>(step) + 1); }

}  // namespace

void EndDuty::Stop(std::string_view reason) {
  if (job_->ended() || !job_->stop.empty()) return;
  const std::string why =
      absl::StrCat("stopped: ", reason.empty() ? std::string("on request") : std::string(reason));
  if (job_->state == v1::JOB_STATE_PENDING && !job_->recovery.begins_again) {
    return job_->Fail(v1::FAILURE_KIND_ERROR, absl::StrCat(why, ", before it had begun"));
  }
  job_->stop = why;
  job_->writer.Note();
}

void EndDuty::Advance(absl::Time now) {
  // Nothing is flushed or saved while partitions are frozen for a move.
  if (job_->training.end.begun() && job_->placement.MovesLinger()) return;
  while (!job_->ended() && job_->training.end.begun() && StepDone(now))
    EnterStep(Next(job_->training.end.step), now);
}

void EndDuty::CompleteIfSaved(absl::Time now) {
  if (job_->training.end.saved && !job_->ended()) Complete(now);
}

bool EndDuty::StepDone(absl::Time now) {
  switch (job_->training.end.step) {
    case EndStep::kBarrier:
      if (!job_->training.work.has_lanes()) return true;
      job_->training.barrier.Seek(job_->placement.views.coordinator(), job_->options.call_deadline,
                                  job_->calls);
      return job_->training.barrier.reached();
    case EndStep::kDrain:
      return job_->Drained(now);
    case EndStep::kFlush:
      return !job_->calls.Pending<v1::FlushRequest>();
    case EndStep::kClose:
      return job_->training.closes.complete();
    case EndStep::kEvaluate:
      return Evaluated(now);
    case EndStep::kSave:
      return SaveModel(now);
    case EndStep::kNone:
      return false;
  }
  return false;
}

void EndDuty::EnterStep(EndStep step, absl::Time now) {
  job_->training.end.step = step;
  switch (step) {
    case EndStep::kDrain:
      job_->training.TakeLeasesBack();
      break;
    case EndStep::kFlush:
      job_->FlushShards();
      break;
    case EndStep::kEvaluate:
      job_->training.end.attended = now;
      break;
    case EndStep::kSave:
      job_->training.end.save_begun = now;
      break;
    case EndStep::kNone:
    case EndStep::kBarrier:
    case EndStep::kClose:
      break;
  }
}

// Returns true if the final evaluation is over, or none is needed. If all is trained, waits for
// workers that have left, as they may come back. A job that is stopped early waits only for a
// lease, after which a worker counts as lost.
bool EndDuty::Evaluated(absl::Time now) {
  const Evaluations& evaluations = job_->training.evaluations;
  if (!evaluations.enabled() || evaluations.final_over()) return true;
  if (!evaluations.running())
    job_->training.BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now);
  if (job_->training.workers.AnyEligible()) job_->training.end.attended = now;
  const absl::Duration alone = now - job_->training.end.attended;
  if (!job_->stop.empty() && alone >= job_->worker_lease()) GiveUpEvaluation();
  return evaluations.final_over();
}

// Gives up the running evaluation. If that was already under way when the end began, the final one
// follows at once.
void EndDuty::GiveUpEvaluation() {
  const std::string why = absl::StrCat("no worker has been there for ",
                                       absl::FormatDuration(job_->worker_lease()), " to do it");
  job_->outbox.Warn("evaluation", absl::StrCat("the job ends without its final evaluation: ", why));
  job_->training.evaluations.GiveUp(why);
}

// Has the model saved, in one attempt after another until save_patience is over. Always returns
// false: the step ends by Complete() or Fail().
bool EndDuty::SaveModel(absl::Time now) {
  if (!job_->checkpoints.checkpointer.enabled()) {
    Complete(now);
    return false;
  }
  if (const CheckpointFacts* better = BetterCheckpoint()) {
    // The evaluation of that checkpoint is the final one.
    job_->training.evaluations.AddFinal(better->metrics, better->examples, better->step);
    job_->model_uri = job_->checkpoints.checkpointer.UriOf(better->id);
    Complete(now);
    return false;
  }
  job_->state = v1::JOB_STATE_CHECKPOINTING;
  CAPSTAN_FAILPOINT("model.saving");
  if (job_->checkpoints.checkpointer.running()) return false;
  if (now - job_->training.end.save_begun > job_->options.save_patience &&
      job_->checkpoints.checkpointer.failures_in_a_row() >= job_->options.save_attempts) {
    job_->Fail(v1::FAILURE_KIND_ERROR,
               absl::StrCat("the model cannot be saved: ",
                            job_->checkpoints.checkpointer.last_failure().message()));
    return false;
  }
  job_->training.end.saving =
      job_->recovery.partial.empty() && job_->checkpoints.checkpointer.MayBegin(now);
  return false;
}

// Returns the best checkpoint if its metric is better than that of the present parameters; null if
// it is not, or if they cannot be compared.
const CheckpointFacts* EndDuty::BetterCheckpoint() const {
  const CheckpointFacts* best = job_->checkpoints.catalog.best();
  if (job_->plan.spec.train().early_stop().metric().empty() || best == nullptr ||
      !job_->training.standstill.evaluation) {
    return nullptr;
  }
  const auto& now = job_->training.standstill.evaluation->metrics();
  if (best->timeline < job_->recovery.first_timeline ||
      !job_->checkpoints.catalog.Better(*best, {now.begin(), now.end()})) {
    return nullptr;
  }
  return best;
}

void EndDuty::Complete(absl::Time now) {
  CAPSTAN_FAILPOINT("model.saved");
  job_->AddCurvePoint({}, now);
  job_->state = v1::JOB_STATE_COMPLETED;
  job_->completed = now;
  if (!job_->training.evaluations.failure().empty()) {
    absl::StrAppend(&job_->reason, job_->reason.empty() ? "" : "; ", kNotEvaluated,
                    job_->training.evaluations.failure());
  }
  job_->completion = job_->end_written = job_->writer.Require();
  job_->outbox.Log(
      LogEvent::Level::kInfo, "the job is completed",
      {{"examples", absl::StrCat(job_->training.progress.examples())},
       {"seconds", absl::StrFormat("%.1f", job_->training.progress.elapsed_seconds(now))},
       {"model", job_->model_uri.empty() ? "not written" : job_->model_uri}});
}

}  // namespace capstan::chief
