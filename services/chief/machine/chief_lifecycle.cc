// ChiefMachine: the life of the job, from the quorum of shards to the beginning of the end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/model/oddness.h"
#include "chief/machine/chief_machine.h"
#include "chief/work/evaluation_log.h"

namespace capstan::chief {

void ChiefMachine::Advance(absl::Time now) {
  if (superseded()) return;
  if (state_ == v1::JOB_STATE_PENDING) AdvanceStart(now);
  if (state_ == v1::JOB_STATE_RUNNING && !promotion_) AdvanceTakeover(now);
  AdvanceReplicas(now);
  if (AdvancePromotion(now)) return SendCalls(now);
  if (recovery_.phase() != Recovery::Phase::kIdle && !ended()) AdvanceRecovery(now);
  if (state_ == v1::JOB_STATE_RUNNING && takeover_.settled()) AdvanceTraining(now);
  AdvanceEnd(now);
  AdvanceCheckpoint(now);
  RefreshView(now);
  AdvanceMoves(now);
  if (ended()) return;
  SendLoads();
  SendCalls(now);
}

void ChiefMachine::SendCalls(absl::Time now) {
  for (CallShard& call : calls_.TakeDue(gate_.published(), shards_, now)) {
    actions_.push_back(std::move(call));
  }
}

void ChiefMachine::AdvanceStart(absl::Time now) {
  if (!shards_.complete() || shards_.SilentFor(worker_lease(), now) != nullptr) return;
  ReturnToCheckpoint(begins_again_ ? "the job was started again" : "", 0, now);
}

void ChiefMachine::AdvanceTraining(absl::Time now) {
  const WorkTotals totals = work_.totals();
  const uint64_t steps = std::max(totals.steps, barrier_.round());
  if (totals.examples != progress_.examples() || steps != progress_.steps()) writer_.Note();
  progress_.Update(totals.examples, steps, now);
  WatchLoss();
  const uint64_t max_steps = plan_.spec.train().max_steps();
  if (!stop_.empty()) BeginEnd(stop_);
  if (work_.all_done()) {
    progress_.Settle(totals.examples);
    BeginEnd("");
  }
  if (max_steps > 0 && steps >= max_steps) BeginEnd("");
  AdvanceCloses();
  AdvanceEvaluation(now);
  AdvanceBarrier(now);
}

void ChiefMachine::CheckRefusal() {
  if (ended() || state_ == v1::JOB_STATE_PENDING) return;
  if (absl::Status refusal = calls_.Refusal(); !refusal.ok()) {
    Fail(v1::FAILURE_KIND_ERROR, std::string(refusal.message()));
  }
}

void ChiefMachine::CheckBadRecords() {
  const uint64_t limit = plan_.spec.data().max_bad_records();
  if (bad_records_.count() <= limit) return;
  const std::vector<std::string>& examples = bad_records_.examples();
  Fail(v1::FAILURE_KIND_BAD_INPUT,
       absl::StrCat(bad_records_.count(), " bad records, more than data.max_bad_records = ", limit,
                    examples.empty() ? "" : absl::StrCat("; the first: ", examples.front())));
}

void ChiefMachine::WatchLoss() {
  NoteWarning("training loss", OddLoss(plan_.spec, progress_.loss(), progress_.least_loss()));
}

bool ChiefMachine::EvaluationDue() const {
  return !end_.begun() && evaluations_.Due(progress_.examples(), work_.totals().epochs_done);
}

void ChiefMachine::AdvanceEvaluation(absl::Time now) {
  if (evaluations_.complete()) TakeEvaluation(now);
  if (!EvaluationDue()) return;
  if (!EvaluatesAtRest()) return BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now);
  // A switch that waits for the same barrier comes first.
  const bool switches = work_.has_lanes() && moves_.wants_quiet();
  if (AtRest() && !switches) BeginEvaluation(/*at_barrier=*/true, /*final=*/false, now);
}

// In rounds always; elsewhere where the metric decides what the result is.
bool ChiefMachine::EvaluatesAtRest() const {
  return work_.has_lanes() || !plan_.spec.train().early_stop().metric().empty();
}

bool ChiefMachine::AtRest() const {
  return work_.has_lanes() ? barrier_.reached() : rest_.step == Rest::Step::kReached;
}

// Lanes stand still for an evaluation, for partitions that change their owner, and until a
// checkpoint is marked everywhere; tasks for an evaluation that decides. Both do until what is the
// best so far is saved.
void ChiefMachine::AdvanceBarrier(absl::Time now) {
  if (end_.begun()) return;
  const bool evaluates = EvaluatesAtRest() && (EvaluationDue() || evaluations_.running());
  const bool lanes = work_.has_lanes();
  GiveUpBest(now);
  if (!lanes && moves_.wants_quiet() && rest_.step == Rest::Step::kNone) return;
  const bool saves = lanes && checkpointer_.running() && !checkpointer_.marked();
  const bool switches = lanes && moves_.wants_quiet();
  if (evaluates || rest_.save || saves || switches || (lanes && CheckpointWanted(now))) {
    return SeekRest(now);
  }
  if (AtRest()) Resume();
}

// The store may be away for long: then training is worth more than these parameters.
void ChiefMachine::GiveUpBest(absl::Time now) {
  if (!rest_.save || checkpointer_.running() || now < rest_.save_until ||
      checkpointer_.failures_in_a_row() < options_.save_attempts) {
    return;
  }
  rest_.save = false;
  NoteWarning("best model",
              absl::StrCat("the best model so far, of ", rest_.evaluation->examples(),
                           " examples, could not be saved, and is lost for the result: ",
                           checkpointer_.last_failure().ToString()));
}

void ChiefMachine::SeekRest(absl::Time now) {
  if (work_.has_lanes()) {
    // Whoever leaves finishes no round.
    const bool rounds_close = LeavingShards().empty() && !closed_;
    const absl::Duration deadline =
        rounds_close ? options_.call_deadline : options_.leaving_deadline;
    return barrier_.Seek(views_.coordinator(), deadline, calls_);
  }
  if (rest_.step == Rest::Step::kNone) {
    rest_.step = Rest::Step::kDrain;
    TakeLeasesBack();
  }
  if (rest_.step == Rest::Step::kDrain && Drained(now)) {
    rest_.step = Rest::Step::kFlush;
    FlushShards();
  }
  if (rest_.step == Rest::Step::kFlush && !calls_.Pending(Purpose::kFlush)) {
    rest_.step = Rest::Step::kReached;
  }
}

void ChiefMachine::Resume() {
  rest_ = {};
  if (work_.has_lanes()) barrier_.Release(views_.coordinator(), options_.call_deadline, calls_);
}

void ChiefMachine::BeginEvaluation(bool at_barrier, bool final, absl::Time now) {
  v1::Evaluation about;
  about.set_examples(progress_.examples());
  about.set_step(progress_.steps());
  about.set_elapsed_seconds(progress_.elapsed_seconds(now));
  about.set_at_round_boundary(at_barrier);
  about.set_final(final);
  about.set_train_loss(progress_.loss());
  evaluations_.Begin(std::move(about), work_.totals().epochs_done);
}

void ChiefMachine::TakeEvaluation(absl::Time now) {
  const v1::Evaluation evaluation = evaluations_.Take();
  AddCurvePoint(evaluation, now);
  for (LogFields& fields : EvaluationLogFields(evaluation)) {
    Log(LogEvent::Level::kInfo, "evaluated", std::move(fields));
  }
  NoteWarning("evaluation", "");
  NoteWarning("held out", OddEvaluation(plan_.spec.model(), evaluation));
  writer_.Note();
  if (evaluation.at_round_boundary()) rest_.evaluation = evaluation;
  if (evaluation.final()) return;
  const auto& metrics = evaluation.metrics();
  rest_.save = rest_.evaluation && checkpointer_.enabled() &&
               !plan_.spec.train().early_stop().metric().empty() &&
               catalog_.Surpasses({metrics.begin(), metrics.end()});
  rest_.save_until = now + options_.save_patience;
  if (std::optional<std::string> stop = early_stop_.Add(evaluation)) stop_ = *stop;
  if (!stop_.empty()) BeginEnd(stop_);
}

// The model is worth more than its metrics: training, or the way to the end, goes on without them.
void ChiefMachine::GiveUpEvaluation(const std::string& why) {
  NoteWarning("evaluation", absl::StrCat("the evaluation after ", progress_.examples(),
                                         " examples was given up, and the job goes on: ", why));
  evaluations_.GiveUp(why);
}

void ChiefMachine::BeginEnd(std::string_view reason) {
  if (end_.begun()) return;
  end_.step = EndStep::kBarrier;
  reason_ = std::string(reason);
  Log(LogEvent::Level::kInfo, "training ends",
      {{"examples", absl::StrCat(progress_.examples())},
       {"steps", absl::StrCat(progress_.steps())},
       {"reason", reason_.empty() ? "done" : reason_}});
}

void ChiefMachine::Fail(v1::FailureKind kind, std::string_view reason) {
  if (ended()) return;
  state_ = v1::JOB_STATE_FAILED;
  failure_kind_ = kind;
  reason_ = std::string(reason);
  work_.ReleaseAll();
  calls_.CancelAll();
  writer_.Require();
  AnswerAskers(absl::FailedPreconditionError("the job has failed"));
  Log(LogEvent::Level::kError, "the job has failed", {{"reason", reason_}});
}

}  // namespace capstan::chief
