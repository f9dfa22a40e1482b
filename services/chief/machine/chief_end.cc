// ChiefMachine: the way out, step by step; see EndStep.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/failpoint.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr char kNotEvaluated[] =
    "the model is complete, but could not be evaluated (`capstan evaluate` does it later): ";

EndStep Next(EndStep step) { return static_cast<EndStep>(static_cast<int>(step) + 1); }

}  // namespace

void ChiefMachine::AdvanceEnd(absl::Time now) {
  // Nothing is flushed or saved while partitions stand still for a move.
  if (end_.begun() && MovesLinger()) return;
  while (!ended() && end_.begun() && EndStepDone(now)) EnterEndStep(Next(end_.step), now);
}

bool ChiefMachine::EndStepDone(absl::Time now) {
  switch (end_.step) {
    case EndStep::kBarrier:
      if (!work_.has_lanes()) return true;
      barrier_.Seek(views_.coordinator(), options_.call_deadline, calls_);
      return barrier_.reached();
    case EndStep::kDrain:
      return Drained(now);
    case EndStep::kFlush:
      return !calls_.Pending(Purpose::kFlush);
    case EndStep::kClose:
      return closes_.empty() && closer_.complete();
    case EndStep::kEvaluate:
      if (!evaluations_.enabled() || evaluations_.final_over()) return true;
      if (!evaluations_.running()) BeginEvaluation(/*at_barrier=*/true, /*final=*/true, now);
      return false;
    case EndStep::kSave:
      return SaveModel(now);
    case EndStep::kNone:
      return false;
  }
  return false;
}

void ChiefMachine::EnterEndStep(EndStep step, absl::Time now) {
  end_.step = step;
  switch (step) {
    case EndStep::kDrain:
      TakeLeasesBack();
      break;
    case EndStep::kFlush:
      FlushShards();
      break;
    case EndStep::kSave:
      end_.save_begun = now;
      break;
    case EndStep::kNone:
    case EndStep::kBarrier:
    case EndStep::kClose:
    case EndStep::kEvaluate:
      break;
  }
}

// Until Drained() somebody may still push by one of them.
void ChiefMachine::TakeLeasesBack() {
  for (const auto& [name, worker] : workers_.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (work_.Holds(trainer.id)) end_.draining.insert(name);
    }
  }
  work_.ReleaseAll();
}

bool ChiefMachine::Drained(absl::Time now) const {
  return end_.draining.empty() && takeover_.complete(now);
}

void ChiefMachine::FlushShards() {
  for (uint32_t shard : Owners()) {
    calls_.Send(Purpose::kFlush, shard, v1::FlushRequest(), options_.call_deadline);
  }
}

// The checkpoint whose evaluation was better than that of the parameters as they are; null: none,
// or nothing says which is the better.
const CheckpointFacts* ChiefMachine::BetterCheckpoint() const {
  const CheckpointFacts* best = catalog_.best();
  if (plan_.spec.train().early_stop().metric().empty() || best == nullptr || !rest_.evaluation) {
    return nullptr;
  }
  const auto& now = rest_.evaluation->metrics();
  if (best->timeline < first_timeline_ || !catalog_.Better(*best, {now.begin(), now.end()})) {
    return nullptr;
  }
  return best;
}

// One attempt after another, for as long as the last one may take. Never done: Complete() ends it.
bool ChiefMachine::SaveModel(absl::Time now) {
  if (!checkpointer_.enabled()) {
    Complete(now);
    return false;
  }
  if (const CheckpointFacts* better = BetterCheckpoint()) {
    // Its evaluation is the last word on the result.
    evaluations_.AddFinal(better->metrics, better->examples, better->step);
    model_uri_ = checkpointer_.UriOf(better->id);
    Complete(now);
    return false;
  }
  state_ = v1::JOB_STATE_CHECKPOINTING;
  CAPSTAN_FAILPOINT("model.saving");
  if (checkpointer_.running()) return false;
  if (now - end_.save_begun > options_.save_patience &&
      checkpointer_.failures_in_a_row() >= options_.save_attempts) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat("the model cannot be saved: ", checkpointer_.last_failure().ToString()));
    return false;
  }
  if (!partial_.empty() || !checkpointer_.MayBegin(now)) return false;
  end_.saving = true;
  BeginCheckpoint(now);
  return false;
}

void ChiefMachine::Complete(absl::Time now) {
  CAPSTAN_FAILPOINT("model.saved");
  AddCurvePoint({}, now);
  state_ = v1::JOB_STATE_COMPLETED;
  completed_ = now;
  if (!evaluations_.failure().empty()) {
    absl::StrAppend(&reason_, reason_.empty() ? "" : "; ", kNotEvaluated, evaluations_.failure());
  }
  completion_ = writer_.Require();
  AnswerAskers(absl::FailedPreconditionError("the job is completed"));
  Log(LogEvent::Level::kInfo, "the job is completed",
      {{"examples", absl::StrCat(progress_.examples())},
       {"seconds", absl::StrFormat("%.1f", progress_.elapsed_seconds(now))},
       {"model", model_uri_.empty() ? "not written" : model_uri_}});
  RefreshView(now);
}

}  // namespace capstan::chief
