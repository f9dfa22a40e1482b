#include "chief/duties/end_duty.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/failpoint.h"

namespace capstan::chief {
namespace {

constexpr char kNotEvaluated[] =
    "the model is complete, but could not be evaluated (`capstan evaluate` does it later): ";

EndStep Next(EndStep step) { return static_cast<EndStep>(static_cast<int>(step) + 1); }

}  // namespace

void EndDuty::Advance(absl::Time now) {
  // Nothing is flushed or saved while partitions stand still for a move.
  if (job_->end.begun() && job_->MovesLinger()) return;
  while (!job_->ended() && job_->end.begun() && StepDone(now)) EnterStep(Next(job_->end.step), now);
}

bool EndDuty::StepDone(absl::Time now) {
  switch (job_->end.step) {
    case EndStep::kBarrier:
      if (!job_->work.has_lanes()) return true;
      job_->barrier.Seek(job_->views.coordinator(), job_->options.call_deadline, job_->calls);
      return job_->barrier.reached();
    case EndStep::kDrain:
      return job_->Drained(now);
    case EndStep::kFlush:
      return !job_->calls.Pending(Purpose::kFlush);
    case EndStep::kClose:
      return job_->closes.complete();
    case EndStep::kEvaluate:
      if (!job_->evaluations.enabled() || job_->evaluations.final_over()) return true;
      if (!job_->evaluations.running())
        job_->BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now);
      return false;
    case EndStep::kSave:
      return SaveModel(now);
    case EndStep::kNone:
      return false;
  }
  return false;
}

void EndDuty::EnterStep(EndStep step, absl::Time now) {
  job_->end.step = step;
  switch (step) {
    case EndStep::kDrain:
      job_->TakeLeasesBack();
      break;
    case EndStep::kFlush:
      job_->FlushShards();
      break;
    case EndStep::kSave:
      job_->end.save_begun = now;
      break;
    case EndStep::kNone:
    case EndStep::kBarrier:
    case EndStep::kClose:
    case EndStep::kEvaluate:
      break;
  }
}

// One attempt after another, for as long as the last one may take. Never done: Complete() ends it.
bool EndDuty::SaveModel(absl::Time now) {
  if (job_->end.saved || !job_->checkpointer.enabled()) {
    Complete(now);
    return false;
  }
  if (const CheckpointFacts* better = BetterCheckpoint()) {
    // Its evaluation is the last word on the result.
    job_->evaluations.AddFinal(better->metrics, better->examples, better->step);
    job_->model_uri = job_->checkpointer.UriOf(better->id);
    Complete(now);
    return false;
  }
  job_->state = v1::JOB_STATE_CHECKPOINTING;
  CAPSTAN_FAILPOINT("model.saving");
  if (job_->checkpointer.running()) return false;
  if (now - job_->end.save_begun > job_->options.save_patience &&
      job_->checkpointer.failures_in_a_row() >= job_->options.save_attempts) {
    job_->Fail(v1::FAILURE_KIND_ERROR, absl::StrCat("the model cannot be saved: ",
                                                    job_->checkpointer.last_failure().ToString()));
    return false;
  }
  job_->end.saving = job_->partial.empty() && job_->checkpointer.MayBegin(now);
  return false;
}

// The checkpoint whose evaluation was better than that of the parameters as they are; null: none,
// or nothing says which is the better.
const CheckpointFacts* EndDuty::BetterCheckpoint() const {
  const CheckpointFacts* best = job_->catalog.best();
  if (job_->plan.spec.train().early_stop().metric().empty() || best == nullptr ||
      !job_->rest.evaluation) {
    return nullptr;
  }
  const auto& now = job_->rest.evaluation->metrics();
  if (best->timeline < job_->first_timeline ||
      !job_->catalog.Better(*best, {now.begin(), now.end()})) {
    return nullptr;
  }
  return best;
}

void EndDuty::Complete(absl::Time now) {
  CAPSTAN_FAILPOINT("model.saved");
  job_->AddCurvePoint({}, now);
  job_->state = v1::JOB_STATE_COMPLETED;
  job_->completed = now;
  if (!job_->evaluations.failure().empty()) {
    absl::StrAppend(&job_->reason, job_->reason.empty() ? "" : "; ", kNotEvaluated,
                    job_->evaluations.failure());
  }
  job_->completion = job_->writer.Require();
  job_->outbox.Log(LogEvent::Level::kInfo, "the job is completed",
                   {{"examples", absl::StrCat(job_->progress.examples())},
                    {"seconds", absl::StrFormat("%.1f", job_->progress.elapsed_seconds(now))},
                    {"model", job_->model_uri.empty() ? "not written" : job_->model_uri}});
}

}  // namespace capstan::chief
