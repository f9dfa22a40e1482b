// ChiefMachine: what it stores, and how it goes on from what another has stored.
#include <utility>

#include "capstan/model/oddness.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr uint32_t kStateFormat = 1;

}  // namespace

void ChiefMachine::Inherit(const v1::ChiefState& state, absl::Time now) {
  first_timeline_ = state.first_timeline();
  next_timeline_ = std::max(first_timeline_, state.view().timeline() + 1);
  from_ = state.from();
  if (!state.seal_key().empty()) sealer_ = Sealer(state.seal_key());
  fresh_once_ = state.fresh_once();
  claim_.set_chief_address(state.chief_address());
  claim_.set_chief_host(state.chief_host());
  claim_.set_opened_from(state.opened_from());
  claim_.set_opened_after(state.opened_after());
  catalog_.GoOnFrom(state.opened_from(), state.opened_after());
  claim_.set_claimed_unix_seconds(state.claimed_unix_seconds());
  losses_.assign(state.losses().begin(), state.losses().end());
  progress_.Start(now, absl::Seconds(state.elapsed_seconds()));
  if (state.state() == v1::JOB_STATE_PENDING) return;
  begins_again_ = true;
  const v1::TaskProgress& progress = state.progress();
  const bool same_data = progress.tasks_fingerprint() == TasksFingerprint(plan_);
  if (same_data) {
    work_.Restore(progress);
    bad_records_.Restore(progress);
  }
  progress_.Restore(progress.examples(), progress.steps(), now);
  evaluations_.Restore({state.evaluations().begin(), state.evaluations().end()},
                       progress.examples(), work_.totals().epochs_done);
  if (state.state() == v1::JOB_STATE_COMPLETED) {
    state_ = v1::JOB_STATE_COMPLETED;
    views_.SetTimeline(state.view().timeline());
    completed_ = now;
    reason_ = state.reason();
    model_uri_ = state.model_uri();
    if (!evaluations_.history().empty()) {
      NoteWarning("held out", OddEvaluation(plan_.spec.model(), evaluations_.history().back()));
    }
    Log(LogEvent::Level::kInfo, "the job has been completed before", {{"model", model_uri_}});
    return;
  }
  const bool runs =
      state.state() == v1::JOB_STATE_RUNNING || state.state() == v1::JOB_STATE_CHECKPOINTING;
  if (!runs || !same_data) return;
  state_ = v1::JOB_STATE_RUNNING;
  stop_ = state.reason();
  for (const v1::Evaluation& evaluation : evaluations_.history()) {
    if (!evaluation.final()) (void)early_stop_.Add(evaluation);
  }
  // Some of them may have been closed already: to close again changes nothing.
  for (const v1::StreamClose& close : state.closes()) {
    closes_.emplace_back(0, close);
    if (partial()) close_log_.Add(close);
  }
  views_.Inherit(state.view());
  shards_.Inherit(state.view(), now);
  takeover_ = Takeover(state.view(), worker_lease(), now);
  shard_lease_.Inherit(state.view(), now);
  StartCheckpointClock(now);
}

v1::ChiefState ChiefMachine::State(absl::Time now) const {
  v1::ChiefState state = claim_;
  state.set_format(kStateFormat);
  state.set_term(options_.term);
  state.set_written_by(options_.run_id);
  *state.mutable_job() = plan_.spec;
  *state.mutable_view() = views_.current();
  // Whoever ends before its time: no timeline is begun twice, and no job.
  state.mutable_view()->set_timeline(next_timeline_ - 1);
  const bool waits_again = state_ == v1::JOB_STATE_PENDING && begins_again_;
  *state.mutable_progress() = ProgressOfNow();
  state.set_state(waits_again ? v1::JOB_STATE_RESTORING : state_);
  state.set_reason(ended() ? reason_ : stop_);
  state.set_failure_kind(failure_kind_);
  if (const CheckpointFacts* newest = catalog_.newest()) state.set_manifest(newest->id);
  if (const CheckpointFacts* best = catalog_.best()) state.set_best_manifest(best->id);
  for (const v1::StreamClose& close : partial() ? close_log_.closes() : UnconfirmedCloses()) {
    *state.add_closes() = close;
  }
  const std::vector<v1::Evaluation>& evaluations = evaluations_.history();
  state.mutable_evaluations()->Assign(evaluations.begin(), evaluations.end());
  state.mutable_losses()->Assign(losses_.begin(), losses_.end());
  state.set_elapsed_seconds(progress_.elapsed_seconds(completed_.value_or(now)));
  state.set_model_uri(model_uri_);
  state.set_first_timeline(first_timeline_);
  state.set_from(from_);
  state.set_fresh_once(fresh_once_);
  return state;
}

std::deque<v1::StreamClose> ChiefMachine::UnconfirmedCloses() const {
  std::deque<v1::StreamClose> unconfirmed = closer_.unconfirmed();
  for (const auto& [ticket, close] : closes_) unconfirmed.push_back(close);
  return unconfirmed;
}

v1::TaskProgress ChiefMachine::ProgressOfNow() const {
  v1::TaskProgress progress;
  work_.Save(progress);
  bad_records_.Save(work_.totals().epochs_done, progress);
  progress.set_examples(progress_.examples());
  progress.set_steps(progress_.steps());
  if (!barrier_.reached()) return progress;
  // As of the round of the barrier, whatever holders have told since.
  const v1::HoldRoundsReply& held = barrier_.held();
  *progress.mutable_last_closed() = held.last();
  for (int lane = 0; lane < std::min(progress.lanes_size(), held.lanes_size()); ++lane) {
    progress.mutable_lanes(lane)->set_cursor(held.lanes(lane).cursor());
    progress.mutable_lanes(lane)->set_ended(held.lanes(lane).ended());
  }
  return progress;
}

// A stream is closed only when the store knows that its task is done, and none while a checkpoint
// is being taken: what it restores must still know what belongs to tasks that it does not hold.
// None is begun when partitions are about to change their owner.
void ChiefMachine::AdvanceCloses() {
  while (!moves_.wants_quiet() && !closes_.empty() && writer_.IsStored(closes_.front().first)) {
    closer_.Add(std::move(closes_.front().second));
    closes_.pop_front();
  }
  if (!checkpointer_.running()) closer_.Advance(views_.owners(), options_.call_deadline, calls_);
}

}  // namespace capstan::chief
