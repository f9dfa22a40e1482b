#include "chief/machine/chief_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/consistency/job_lanes.h"

namespace capstan::chief {
namespace {

// The loss is shown as a mean over about so many batches.
constexpr uint64_t kLossBatches = 50;

// Whoever has not been heard of for so many heartbeats may be gone.
constexpr int kBeatsMissed = 3;

absl::Status CheckWireVersion(uint32_t version) {
  if (version == kWireVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the peer speaks wire version ", version, ", this chief ", kWireVersion));
}

MembershipOptions MembershipOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.term = options.term,
          .threads = spec.train().compute_threads(),
          .lease = absl::Seconds(spec.lease().worker_lease_seconds()),
          .presence = kBeatsMissed * absl::Seconds(spec.lease().heartbeat_seconds()),
          .data_stall = absl::Seconds(spec.lease().data_stall_seconds()),
          .max_workers = options.max_workers};
}

CheckpointerOptions CheckpointerOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  const v1::CheckpointSpec& checkpoint = spec.checkpoint();
  const absl::string_view prefix = absl::StripSuffix(checkpoint.uri(), "/");
  return {.folder = prefix.empty() ? "" : absl::StrCat(prefix, "/", spec.job(), "/checkpoints"),
          .term = options.term,
          .run_id = options.run_id,
          .every = absl::Seconds(checkpoint.every_seconds()),
          .call_deadline = options.call_deadline,
          .patience = options.still_patience};
}

// Zero: shards need none.
absl::Duration ShardLeaseOf(const v1::JobSpec& spec) {
  return spec.replicas() > 0 ? absl::Seconds(spec.lease().shard_lease_seconds())
                             : absl::ZeroDuration();
}

}  // namespace

ChiefMachine::ChiefMachine(ChiefOptions options, JobPlan plan, absl::Time now, JobHistory history)
    : options_(options),
      plan_(std::move(plan)),
      sealer_(options.seal_key),
      generations_(options.term),
      shards_(options.shards, plan_.spec.partition_count()),
      workers_(MembershipOf(options, plan_.spec)),
      work_(plan_),
      evaluations_(plan_),
      progress_({.loss_window = kLossBatches * plan_.spec.train().batch_size()}, now),
      stragglers_({.average = options.straggler_average, .probation = options.straggler_probation}),
      early_stop_(plan_.spec.train().early_stop()),
      views_(options.term, plan_.spec),
      writer_(history.state.has_value()),
      gate_(history.state ? history.state->view() : v1::View()),
      checkpointer_(CheckpointerOf(options, plan_.spec)),
      catalog_({.keep = plan_.spec.checkpoint().keep(),
                .metric = plan_.spec.train().early_stop().metric()}),
      loads_(plan_.spec.partition_count()),
      balance_({.automatic = plan_.spec.rebalance().automatic(),
                .join_settling = options.join_settling,
                .leave_settling = options.leave_settling}),
      moves_({.batch_partitions = options.move_batch,
              .bytes_per_second = plan_.spec.rebalance().bytes_per_second(),
              .call_deadline = options.call_deadline}),
      shard_lease_(ShardLeaseOf(plan_.spec)),
      pairing_(options.pair_settling),
      // Where nothing is stored nobody knows of earlier chiefs; their timelines are lower all the
      // same.
      next_timeline_(options.term),
      first_timeline_(options.term),
      lost_updates_meter_(plan_.spec),
      closes_streams_(UsesStreams(plan_.spec)) {
  for (CheckpointFacts& facts : history.checkpoints) catalog_.Add(std::move(facts));
  checkpointer_.AddGarbage(std::move(history.garbage));
  if (history.state) Inherit(*history.state, now);
  claim_.set_seal_key(sealer_.key());
  RefreshView(now);
}

absl::StatusOr<v1::RegisterShardReply> ChiefMachine::RegisterShard(
    const v1::RegisterShardRequest& request, absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  if (request.index() >= shards_.most()) NoteSpareShard(request.index(), now);
  CAPSTAN_ASSIGN_OR_RETURN(const ShardTable::Arrival arrival, shards_.Register(request, now));
  if (arrival != ShardTable::Arrival::kSame) {
    Log(LogEvent::Level::kInfo, "shard registered",
        {{"shard", absl::StrCat(request.index())}, {"address", request.address()}});
  }
  if (arrival == ShardTable::Arrival::kReplaced) OnShardReplaced(request.index(), now);
  heard_of_shards_ = true;
  Advance(now);
  v1::RegisterShardReply reply;
  *reply.mutable_job() = plan_.spec;
  reply.set_seal_key(sealer_.key());
  reply.set_from(from_);
  return reply;
}

absl::StatusOr<v1::RegisterWorkerReply> ChiefMachine::RegisterWorker(
    const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  CAPSTAN_ASSIGN_OR_RETURN(const Membership::Registration registration,
                           workers_.Register(request, peer, now));
  ReleaseTrainers(registration.replaced);
  end_.draining.erase(request.name());
  if (registration.is_new) {
    Log(LogEvent::Level::kInfo, "worker registered",
        {{"worker", request.name()}, {"replaces", registration.replaced.empty() ? "no" : "yes"}});
  }
  Advance(now);
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = plan_.spec;
  for (const Trainer& trainer : registration.worker->trainers) reply.add_trainers(Raw(trainer.id));
  return reply;
}

v1::ShardHeartbeatReply ChiefMachine::ShardHeartbeat(const v1::ShardHeartbeatRequest& request,
                                                     absl::Time now) {
  v1::ShardHeartbeatReply reply;
  Shard* shard = shards_.Find(request.index(), Incarnation{request.incarnation()});
  if (shard == nullptr) return reply;
  reply.set_known(true);
  if (request.draining() && !shard->draining) {
    Log(LogEvent::Level::kInfo, "shard leaving", {{"shard", absl::StrCat(request.index())}});
  }
  ShardTable::Hear(*shard, request, now);
  lost_updates_meter_.Hear(request.index(), request.incarnation(), request.report());
  HearOfLoss(request.index(), request.report());
  HearOfBrokenPairs(*shard);
  loads_.Hear(request.index(), request.incarnation(), shard->report, views_.current(), now);
  heard_of_shards_ = true;
  Advance(now);
  reply.set_may_leave(request.draining() && MayLeave(request.index(), now));
  reply.set_lease_seconds(LeaseOf(request.index(), request.incarnation(), now));
  return reply;
}

v1::WorkerHeartbeatReply ChiefMachine::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                                       absl::Time now) {
  v1::WorkerHeartbeatReply reply;
  if (superseded()) {
    reply.set_known(true);  // The chief that has come after knows better.
    return reply;
  }
  Worker* worker = workers_.Find(request);
  if (worker != nullptr) {
    workers_.Hear(*worker, request, now);
    for (const v1::LeaseReport& report : request.leases()) TakeReport(*worker, report);
    takeover_.OnReport(worker->name);
    views_.ForgetTrainers(worker->name);
    if (worker->draining) ReturnUnmentioned(request, *worker);
    if (worker->stuck) ReleaseTrainers(worker->trainer_ids());
    const bool holds_work =
        std::any_of(request.leases().begin(), request.leases().end(), [](const auto& report) {
          return report.kind() != v1::LEASE_KIND_EVALUATION && !report.finished() &&
                 !report.returned() && report.error().empty();
        });
    if (!holds_work) {
      end_.draining.erase(worker->name);
    } else if (LeasesTakenBack() && !worker->stuck) {
      end_.draining.insert(worker->name);
    }
    Advance(now);
    GrantLeases(*worker, now);
    if (BeginsOrEnds(*worker)) {
      RefreshView(now);  // It looks at all workers.
    } else {
      StoreAndPublish(now);
    }
    FillReply(request, *worker, reply);
    reply.set_known(true);
  }
  reply.set_state(told_state());
  reply.set_examples(progress_.examples());
  reply.set_examples_seal(sealer_.OfExamples(timeline(), progress_.examples()));
  return reply;
}

void ChiefMachine::StopJob(std::string_view reason, absl::Time now) {
  if (ended() || end_.begun()) return;
  const std::string why =
      absl::StrCat("stopped: ", reason.empty() ? std::string("on request") : std::string(reason));
  if (state_ == v1::JOB_STATE_PENDING) {
    Fail(v1::FAILURE_KIND_ERROR, absl::StrCat(why, ", before it had begun"));
    RefreshView(now);
    return;
  }
  stop_ = why;
  Advance(now);
}

void ChiefMachine::OnShardReplaced(uint32_t shard, absl::Time now) {
  const bool switched = moves_.phase() == PartitionMoves::Phase::kSwitched;
  if (moves_.Concerns(shard) && !switched) {
    CancelMoves(absl::UnavailableError(absl::StrCat("shard ", shard, " was started anew")), now);
  }
  if (!views_.Owns(shard)) {  // Nothing is lost with it.
    if (views_.has_map()) views_.RemoveMember(shard);
    return;
  }
  const bool serving = state_ == v1::JOB_STATE_RUNNING || state_ == v1::JOB_STATE_CHECKPOINTING;
  if (!serving || !takeover_.settled()) return recovery_.OnReplaced(shard);
  const absl::Status replaceable = MayBeReplaced(shard, now);
  if (replaceable.ok()) return Promote(shard, "it was started anew", now);
  recovery_.OnReplaced(shard);
  if (MayRecoverPartially()) return RecoverPartially(shard, now);
  std::string cause = absl::StrCat("shard ", shard, " was started anew");
  if (replicas()) absl::StrAppend(&cause, ", and ", replaceable.message());
  ReturnToCheckpoint(cause, shard, now);
}

void ChiefMachine::OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now) {
  // It may have heard of a later chief; the store knows.
  if (absl::IsFailedPrecondition(reply.status())) writer_.Note();
  const std::optional<ShardCalls::Answer> answer = calls_.OnReply(call, std::move(reply), now);
  if (answer) {
    const Shard* shard = shards_.Find(answer->shard);
    // What a process did that has been replaced since is as if it had not been done.
    const bool present = shard != nullptr && Raw(shard->incarnation) == answer->incarnation;
    if (present) OnAnswer(*answer, now);
  }
  if (barrier_.OnCommitted(calls_)) work_.lanes()->TakeCursors(barrier_.held());
  heard_of_shards_ = true;
  Advance(now);
}

void ChiefMachine::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  switch (answer.purpose) {
    case Purpose::kHold:
      return barrier_.OnHeld(std::get<v1::HoldRoundsReply>(*answer.reply), Owners(),
                             options_.call_deadline, calls_);
    case Purpose::kClose:
      return closer_.OnClosed(answer.shard);
    case Purpose::kSave:
      return OnSaveAnswer(answer, now);
    case Purpose::kLoad:
      return OnLoadAnswer(answer, now);
    case Purpose::kJoin:
      return OnJoinAnswer(answer, now);
    case Purpose::kMove:
      return moves_.OnAnswer(answer.shard, answer.reply, now, calls_);
    case Purpose::kCommit:
    case Purpose::kRelease:
    case Purpose::kFlush:
      return;
  }
}

void ChiefMachine::OnStateStored(const absl::Status& stored, absl::Time now) {
  const bool failing = !writer_.last().ok();
  writer_.OnStored(stored, now);
  if (superseded()) {
    Log(LogEvent::Level::kError, "another chief has taken this job over; this one stops");
    return;
  }
  if (!stored.ok() && !failing) {
    Log(LogEvent::Level::kWarning, "the chief's state cannot be stored; it is tried again",
        {{"error", stored.ToString()}});
  }
  if (stored.ok() && failing) Log(LogEvent::Level::kInfo, "the chief's state is stored again");
  heard_of_shards_ = true;  // Their view is published now, perhaps.
  Advance(now);
}

void ChiefMachine::Tick(absl::Time now) {
  for (const Worker& worker : workers_.TakeSilent(now)) {
    ReleaseTrainers(worker.trainer_ids());
    NoteWarning(absl::StrCat("the data of ", worker.name), "");
    end_.draining.erase(worker.name);
    if (worker.draining) continue;
    Log(LogEvent::Level::kWarning, "worker lost: its leases go to others",
        {{"worker", worker.name}, {"silent for", absl::FormatDuration(now - worker.heard)}});
  }
  std::vector<std::pair<std::string, double>> step_seconds;
  for (const auto& [name, worker] : workers_.live()) {
    if (worker.step_seconds() > 0) step_seconds.emplace_back(name, worker.step_seconds());
  }
  for (const std::string& name : stragglers_.Update(step_seconds, now)) {
    Log(LogEvent::Level::kWarning, "straggler: more than twice the median step time",
        {{"worker", name}});
  }
  WatchData();
  WatchSpareShards(now);
  WatchIdleWorkers();
  WatchReplicas(now);
  LogWaiting(now);
  CheckRefusal();
  heard_of_shards_ = true;  // Time has passed, which they may have been silent for.
  Advance(now);
  if (state_ == v1::JOB_STATE_RUNNING && progress_.TakeCurveDue(now)) AddCurvePoint({}, now);
}

// A partition that stands still is asked after often, and rounds are let go on at once.
absl::Time ChiefMachine::NextWake() const {
  return std::min(calls_.NextDue(Purpose::kMove), calls_.NextDue(Purpose::kRelease));
}

std::vector<Action> ChiefMachine::TakeActions() {
  if (superseded()) {
    // Nobody must hear of anything any more.
    std::erase_if(actions_,
                  [](const Action& action) { return !std::holds_alternative<LogEvent>(action); });
  }
  return std::exchange(actions_, {});
}

void ChiefMachine::RefreshView(absl::Time now) {
  std::vector<Trainer*> changed;  // Those who begin to train, or cease to.
  for (auto& [name, worker] : workers_.live()) {
    for (Trainer& trainer : worker.trainers) {
      if (work_.Holds(trainer.id) != trainer.training) changed.push_back(&trainer);
    }
  }
  if (!changed.empty()) {
    const uint64_t slowest = workers_.SlowestClock(now);
    for (Trainer* trainer : changed) {
      trainer->training = !trainer->training;
      if (trainer->training) trainer->start_clock = std::max(trainer->clock, slowest);
    }
  }
  if (views_.Update(told_state(), shards_, workers_) || gate_.published().epoch().n() == 0) {
    writer_.Note();
    gate_.Offer(views_.current(), writer_);
  }
  StoreAndPublish(now);
}

bool ChiefMachine::BeginsOrEnds(const Worker& worker) const {
  return std::any_of(
      worker.trainers.begin(), worker.trainers.end(),
      [this](const Trainer& trainer) { return work_.Holds(trainer.id) != trainer.training; });
}

void ChiefMachine::StoreAndPublish(absl::Time now) {
  if (writer_.TakeDue(now)) actions_.push_back(StoreState{State(now)});
  if (std::optional<v1::View> view = gate_.Take(writer_)) {
    actions_.push_back(PublishView{*std::move(view)});
  }
}

absl::Duration ChiefMachine::worker_lease() const {
  return absl::Seconds(plan_.spec.lease().worker_lease_seconds());
}

void ChiefMachine::Log(LogEvent::Level level, std::string message,
                       std::vector<std::pair<std::string, std::string>> fields) {
  actions_.push_back(LogEvent{level, std::move(message), std::move(fields)});
}

}  // namespace capstan::chief
