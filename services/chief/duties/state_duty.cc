#include "chief/duties/state_duty.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "capstan/checkpoint/state_format.h"
#include "capstan/model/oddness.h"

namespace capstan::chief {
namespace {

// If the view names the trainers, making one takes time proportional to their number. At the end of
// an epoch thousands stop training, one worker's after another's: so one view is made for all that
// do so within this time. Trainers that have to wait for them meanwhile have already waited longer
// for the heartbeats of their workers.
constexpr absl::Duration kLeavesGather = absl::Milliseconds(100);

}  // namespace

void StateDuty::Inherit(const v1::ChiefState& state, absl::Time now) {
  InheritClaim(state);
  // Whatever the state is: a predecessor that does not know of this chief goes on granting leases.
  if (job_->options.term > 1) job_->placement.hearing.lease().Inherit(now);
  job_->recovery.losses.assign(state.losses().begin(), state.losses().end());
  job_->training.progress.Start(now, absl::Seconds(state.elapsed_seconds()));
  if (state.state() == v1::JOB_STATE_PENDING) return;
  job_->recovery.begins_again = true;
  const bool same_data = state.progress().tasks_fingerprint() == TasksFingerprint(job_->plan);
  InheritProgress(state, same_data, now);
  InheritEvaluations(state);
  if (state.state() == v1::JOB_STATE_COMPLETED) return InheritEnd(state, now);
  const bool runs =
      state.state() == v1::JOB_STATE_RUNNING || state.state() == v1::JOB_STATE_CHECKPOINTING;
  // The reason of a failed job is why it failed, not why it should stop.
  if (state.state() != v1::JOB_STATE_FAILED) job_->stop = state.reason();
  if (!runs || !same_data) return InheritShards(state);
  InheritRun(state, now);
}

// What is fixed when a chief claims the job: where its timelines begin, the checkpoint with which
// it began, its key, and the fields that are the same in every state.
void StateDuty::InheritClaim(const v1::ChiefState& state) {
  job_->recovery.first_timeline = state.first_timeline();
  job_->recovery.next_timeline =
      std::max(job_->recovery.first_timeline, state.view().timeline() + 1);
  job_->recovery.from = state.from();
  for (const uint32_t index : state.numbered_shards()) {
    job_->placement.shards.NoteNumbered(index);
  }
  if (!state.seal_key().empty()) job_->training.sealer = Sealer(state.seal_key());
  claim_.set_fresh_once(state.fresh_once());
  claim_.set_chief_address(state.chief_address());
  claim_.set_chief_host(state.chief_host());
  claim_.set_opened_from(state.opened_from());
  claim_.set_opened_after(state.opened_after());
  claim_.set_claimed_unix_seconds(state.claimed_unix_seconds());
  job_->checkpoints.catalog.GoOnFrom(state.opened_from(), state.opened_after());
}

// The numbers of finished tasks only have a meaning if the data are cut as before.
void StateDuty::InheritProgress(const v1::ChiefState& state, bool same_data, absl::Time now) {
  const v1::TaskProgress& progress = state.progress();
  if (same_data) {
    job_->training.work.Restore(progress);
    job_->training.bad_records.Restore(progress);
  }
  const auto came_back_alone = [&state](const v1::RecoveryLoss& loss) {
    return loss.recovery() == v1::RECOVERY_PARTIAL && loss.timeline() == state.view().timeline();
  };
  if (std::any_of(state.losses().begin(), state.losses().end(), came_back_alone)) {
    job_->training.work.AdoptOnlyBegun();
  }
  job_->training.progress.Restore(progress.examples(), progress.steps(), now);
}

// The job was completed under an earlier chief, and only its model is served.
void StateDuty::InheritEnd(const v1::ChiefState& state, absl::Time now) {
  job_->state = v1::JOB_STATE_COMPLETED;
  job_->placement.views.Inherit(state.view());
  job_->placement.views.ForgetTrainers();
  job_->placement.shards.Inherit(state.view(), now);
  job_->completed = now;
  job_->reason = state.reason();
  job_->model_uri = state.model_uri();
  if (!job_->training.evaluations.history().empty()) {
    job_->outbox.Warn("held out", OddEvaluation(job_->plan.spec.model(),
                                                job_->training.evaluations.history().back()));
  }
  job_->outbox.Log(LogEvent::Level::kInfo, "the job has been completed before",
                   {{"model", job_->model_uri}});
}

// The job is running, and continues with the shards and workers of the previous chief.
void StateDuty::InheritRun(const v1::ChiefState& state, absl::Time now) {
  job_->state = v1::JOB_STATE_RUNNING;
  for (const v1::StreamClose& close : state.closes()) job_->training.closes.Inherit(close);
  if (state.closes_given_up()) job_->training.closes.log().GiveUp();
  job_->placement.views.Inherit(state.view());
  job_->placement.shards.Inherit(state.view(), now);
  job_->takeover = Takeover(state.view(), job_->worker_lease(), now);
  StartCheckpointClock(now);
}

void StateDuty::InheritEvaluations(const v1::ChiefState& state) {
  std::optional<v1::Evaluation> given_up;
  if (state.has_given_up()) given_up = state.given_up();
  job_->training.RestoreEvaluations({state.evaluations().begin(), state.evaluations().end()},
                                    std::move(given_up), state.progress().examples());
  const Evaluations& evaluations = job_->training.evaluations;
  if (!evaluations.enabled() || evaluations.history().empty() ||
      evaluations.Compares(evaluations.history().back())) {
    return;
  }
  job_->outbox.Log(LogEvent::Level::kInfo,
                   "other records are held out than before: the next evaluation of them is the "
                   "best so far, and early stopping counts from there");
}

// The job continues from a checkpoint, with a new map. It is made over the shards of the stored
// map, or over those that were planned for the next one, as far as they come.
void StateDuty::InheritShards(const v1::ChiefState& state) {
  const auto& shards = state.next_map().empty() ? state.view().owners() : state.next_map();
  job_->placement.next_map = {shards.begin(), shards.end()};
}

// Counts the time to the next checkpoint from the last one of an earlier chief or, if there is
// none, from the beginning of training. Otherwise a chief that is restarted repeatedly would never
// save.
void StateDuty::StartCheckpointClock(absl::Time now) {
  const CheckpointFacts* newest = job_->checkpoints.catalog.newest();
  const bool own = newest != nullptr && newest->timeline >= job_->recovery.first_timeline;
  const absl::Time last =
      own ? newest->at : now - absl::Seconds(job_->training.progress.elapsed_seconds(now));
  job_->checkpoints.checkpointer.StartClock(std::min(last, now));
}

v1::ChiefState StateDuty::State(absl::Time now) const {
  v1::ChiefState state = claim_;
  state.set_format(kStateFormat);
  state.set_term(job_->options.term);
  state.set_written_by(job_->options.run_id);
  state.set_seal_key(job_->training.sealer.key());
  *state.mutable_job() = job_->plan.spec;
  *state.mutable_view() = job_->placement.views.ToStore(job_->training.workers);
  // Also stores timelines that were begun and that no view names yet, so that the next chief does
  // not begin them again.
  state.mutable_view()->set_timeline(job_->recovery.next_timeline - 1);
  const std::set<uint32_t>& next_map = job_->placement.next_map;
  state.mutable_next_map()->Assign(next_map.begin(), next_map.end());
  const bool waits_again = job_->state == v1::JOB_STATE_PENDING && job_->recovery.begins_again;
  *state.mutable_progress() = job_->training.ProgressOfNow();
  state.set_state(waits_again ? v1::JOB_STATE_RESTORING : job_->state);
  state.set_reason(job_->ended() ? job_->reason : job_->stop);
  state.set_failure_kind(job_->failure_kind);
  if (const CheckpointFacts* newest = job_->checkpoints.catalog.newest())
    state.set_manifest(newest->id);
  if (const CheckpointFacts* best = job_->checkpoints.catalog.best())
    state.set_best_manifest(best->id);
  for (const v1::StreamClose& close : job_->training.closes.ToStore()) {
    *state.add_closes() = close;
  }
  state.set_closes_given_up(!job_->training.closes.log().whole());
  const std::vector<v1::Evaluation>& evaluations = job_->training.evaluations.history();
  state.mutable_evaluations()->Assign(evaluations.begin(), evaluations.end());
  if (const auto& given_up = job_->training.evaluations.given_up()) {
    *state.mutable_given_up() = *given_up;
  }
  state.mutable_losses()->Assign(job_->recovery.losses.begin(), job_->recovery.losses.end());
  state.set_elapsed_seconds(job_->training.progress.elapsed_seconds(job_->completed.value_or(now)));
  state.set_model_uri(job_->model_uri);
  state.set_first_timeline(job_->recovery.first_timeline);
  state.set_from(job_->recovery.from);
  const std::set<uint32_t>& numbered = job_->placement.shards.numbered();
  state.mutable_numbered_shards()->Assign(numbered.begin(), numbered.end());
  return state;
}

// Returns true if the trainer should begin or stop training.
bool StateDuty::BeginsOrEnds(const Trainer& trainer) const {
  return job_->training.work.Holds(trainer.id) != trainer.training;
}

std::vector<Trainer*> StateDuty::ThoseWhoBeginOrEnd() {
  Membership& workers = job_->training.workers;
  std::vector<Trainer*> changed;
  const std::set<TrainerId> looked_at = job_->training.work.changes().Take();
  if (std::exchange(seen_, workers.registered()) == workers.registered()) {
    for (const TrainerId id : looked_at) {
      Trainer* const trainer = workers.Find(id);
      if (trainer != nullptr && BeginsOrEnds(*trainer)) changed.push_back(trainer);
    }
    return changed;
  }
  for (auto& [name, worker] : workers.live()) {
    for (Trainer& trainer : worker.trainers) {
      if (BeginsOrEnds(trainer)) changed.push_back(&trainer);
    }
  }
  return changed;
}

void StateDuty::BeginAndEndTraining(absl::Time now) {
  std::vector<Trainer*> changed = ThoseWhoBeginOrEnd();
  if (changed.empty() && leaving_.empty()) return;
  Membership& workers = job_->training.workers;
  const bool any_begins = std::any_of(changed.begin(), changed.end(),
                                      [](const Trainer* trainer) { return !trainer->training; });
  if (job_->placement.views.names_trainers() && !any_begins && now < next_leave_) {
    for (const Trainer* trainer : changed) leaving_.push_back(trainer->id);
    return;
  }
  for (const TrainerId id : std::exchange(leaving_, {})) {
    if (Trainer* const trainer = workers.Find(id); trainer != nullptr) changed.push_back(trainer);
  }
  const uint64_t slowest = any_begins ? workers.SlowestClock(now) : 0;
  for (Trainer* trainer : changed) {
    if (!BeginsOrEnds(*trainer)) continue;  // It is listed twice, or has work again.
    const bool begins = !trainer->training;
    if (!begins) next_leave_ = now + kLeavesGather;
    workers.SetTraining(*trainer, begins,
                        begins ? std::max(trainer->clock, slowest) : trainer->start_clock);
  }
  job_->writer.Note();
}

void StateDuty::RefreshView(absl::Time now) {
  BeginAndEndTraining(now);
  if (job_->placement.views.Update(job_->told_state(), job_->placement.shards,
                                   job_->training.workers) ||
      job_->placement.gate.published().epoch().n() == 0) {
    job_->writer.Note();
    job_->placement.gate.Offer(job_->placement.views.current(), job_->writer);
  }
  StoreAndPublish(now);
}

void StateDuty::RefreshViewOf(const Worker& worker, absl::Time now) {
  const bool changes =
      std::any_of(worker.trainers.begin(), worker.trainers.end(),
                  [this](const Trainer& trainer) { return BeginsOrEnds(trainer); });
  if (changes) return RefreshView(now);
  StoreAndPublish(now);
}

void StateDuty::StoreAndPublish(absl::Time now) {
  if (job_->writer.TakeDue(now)) job_->outbox.Add(StoreState{State(now)});
  if (std::optional<v1::View> view = job_->placement.gate.Take(job_->writer)) {
    job_->outbox.Add(PublishView{*std::move(view)});
  }
}

void StateDuty::OnStored(const absl::Status& stored, absl::Time now) {
  const bool failing = !job_->writer.last().ok();
  job_->writer.OnStored(stored, now);
  if (job_->writer.superseded()) {
    job_->outbox.Log(LogEvent::Level::kError,
                     "another chief has taken this job over; this one stops");
    return;
  }
  if (!stored.ok() && !failing) {
    job_->outbox.Log(LogEvent::Level::kWarning,
                     "the chief's state cannot be stored; it is tried again",
                     {{"error", stored.ToString()}});
  }
  if (stored.ok() && failing)
    job_->outbox.Log(LogEvent::Level::kInfo, "the chief's state is stored again");
  job_->placement.heard_of_shards =
      true;  // A view may have been published that lets moves continue.
}

std::vector<Action> StateDuty::TakeActions() {
  std::vector<Action> actions = job_->outbox.Take();
  if (job_->writer.superseded()) {
    std::erase_if(actions,
                  [](const Action& action) { return !std::holds_alternative<LogEvent>(action); });
  }
  return actions;
}

}  // namespace capstan::chief
