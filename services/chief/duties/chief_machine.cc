#include "chief/duties/chief_machine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "chief/duties/status_report.h"

namespace capstan::chief {
namespace {

absl::Status CheckWireVersion(uint32_t version) {
  if (version == kWireVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the peer speaks wire version ", version, ", this chief ", kWireVersion));
}

}  // namespace

ChiefMachine::ChiefMachine(const ChiefOptions& options, JobPlan plan, absl::Time now,
                           const JobHistory& history)
    : job_(options, std::move(plan), history, now) {
  if (history.state) duties_.state.Inherit(*history.state, now);
  duties_.state.RefreshView(now);
}

ChiefMachine::ChiefMachine(const ChiefMachine& other) : job_(other.job_) {
  duties_ = other.duties_;
}

// ---- the way of an event through the duties ----

void ChiefMachine::Advance(absl::Time now) {
  if (superseded()) return;
  duties_.end.CompleteIfSaved(now);
  duties_.checkpoints.AnswerIfEnded();
  if (job_.state == v1::JOB_STATE_RUNNING && !duties_.promotion.under_way()) {
    const bool waits = duties_.promotion.ReplaceThoseThatDidNotComeBack(now);
    if (!waits && !duties_.promotion.under_way()) duties_.takeover.Advance(now);
  }
  if (job_.state == v1::JOB_STATE_PENDING) duties_.recovery.Start(now);
  ReplaceLost(now);
  if (duties_.promotion.under_way()) {
    duties_.state.RefreshView(now);
    duties_.promotion.OnView(now);
    if (duties_.promotion.under_way()) return SendCalls(now);
  }
  if (job_.recovery.rollback.phase() != Recovery::Phase::kIdle && !job_.ended()) {
    if (job_.state == v1::JOB_STATE_RESTORING) duties_.members.RestoreWithoutThoseThatLeft(now);
    duties_.recovery.Advance(now);
  }
  if (job_.state == v1::JOB_STATE_RUNNING && job_.takeover.settled()) {
    duties_.training.Advance(now);
    duties_.closes.Advance();
    duties_.evaluation.Advance(now);
    duties_.rest.Advance(now);
  }
  duties_.end.Advance(now);
  duties_.checkpoints.Advance(now);
  duties_.state.RefreshView(now);
  AdvanceMoves(now);
  if (job_.ended()) return;
  duties_.loads.Send();
  SendCalls(now);
}

// Of partitions that have replicas.
void ChiefMachine::ReplaceLost(absl::Time now) {
  if (!job_.replicas() && job_.placement.views.current().pairs().empty()) return;
  job_.placement.hearing.Listen(job_.placement.shards, now);
  const bool serving =
      job_.state == v1::JOB_STATE_RUNNING || job_.state == v1::JOB_STATE_CHECKPOINTING;
  if (!job_.placement.heard_of_shards || !serving || !job_.takeover.settled()) return;
  duties_.promotion.ReplaceLost(now);
  duties_.pairs.Drop(now);
}

void ChiefMachine::AdvanceMoves(absl::Time now) {
  if (job_.state != v1::JOB_STATE_RUNNING || !job_.takeover.settled()) return;
  const bool heard = std::exchange(job_.placement.heard_of_shards, false);
  if (heard) {
    duties_.members.Advance(now);
    duties_.moves.planner().See(now);
    if (duties_.members.GiveUpThoseThatLeft(now)) return duties_.state.RefreshView(now);
  }
  const bool cancelled = duties_.moves.CancelIfHindered(now);
  if (heard || cancelled) duties_.state.RefreshView(now);
  while (duties_.moves.Step(/*plans=*/heard, now)) duties_.state.RefreshView(now);
}

void ChiefMachine::SendCalls(absl::Time now) {
  for (CallShard& call :
       job_.calls.TakeDue(job_.placement.gate.published(), job_.placement.shards, now)) {
    job_.outbox.Add(std::move(call));
  }
}

// ---- orders ----

void ChiefMachine::ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) {
  CancelMoves(absl::CancelledError("the job returns to a checkpoint"), now);
  duties_.promotion.Forget();
  duties_.recovery.Return(cause, shard, now);
}

void ChiefMachine::RecoverPartially(uint32_t shard, absl::Time now) {
  duties_.partial.Begin(shard, now);
}

void ChiefMachine::GiveUpPartialRecovery(const absl::Status& why, absl::Time now) {
  duties_.partial.GiveUp(why, now);
}

void ChiefMachine::CancelMoves(const absl::Status& why, absl::Time now) {
  duties_.moves.Cancel(why, now);
}

// ---- shards ----

absl::StatusOr<v1::RegisterShardReply> ChiefMachine::RegisterShard(
    const v1::RegisterShardRequest& request, absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  if (request.index() >= job_.placement.shards.most())
    duties_.members.NoteSpare(request.index(), now);
  CAPSTAN_ASSIGN_OR_RETURN(const ShardTable::Arrival arrival,
                           job_.placement.shards.Register(request, now));
  if (arrival != ShardTable::Arrival::kSame) {
    job_.outbox.Log(LogEvent::Level::kInfo, "shard registered",
                    {{"shard", absl::StrCat(request.index())}, {"address", request.address()}});
  }
  if (arrival == ShardTable::Arrival::kReplaced) OnShardReplaced(request.index(), now);
  job_.placement.heard_of_shards = true;
  Advance(now);
  v1::RegisterShardReply reply;
  *reply.mutable_job() = job_.plan.spec;
  reply.set_seal_key(job_.training.sealer.key());
  reply.set_from(job_.recovery.from);
  return reply;
}

v1::ShardHeartbeatReply ChiefMachine::ShardHeartbeat(const v1::ShardHeartbeatRequest& request,
                                                     absl::Time now) {
  v1::ShardHeartbeatReply reply;
  const uint32_t index = request.index();
  const uint64_t incarnation = request.incarnation();
  Shard* shard = job_.placement.shards.Find(index, Incarnation{incarnation});
  if (shard == nullptr) return reply;
  reply.set_known(true);
  if (request.draining() && !shard->draining) {
    job_.outbox.Log(LogEvent::Level::kInfo, "shard leaving", {{"shard", absl::StrCat(index)}});
  }
  ShardTable::Hear(*shard, request, now);
  job_.recovery.lost_updates.Hear(index, incarnation, request.report());
  duties_.partial.Hear(index, request.report());
  duties_.pairs.Hear(*shard);
  job_.placement.loads.Hear(index, incarnation, shard->report, job_.placement.views.current(), now);
  job_.placement.heard_of_shards = true;
  Advance(now);
  reply.set_may_leave(request.draining() && duties_.members.MayLeave(index, now));
  reply.set_lease_seconds(duties_.promotion.LeaseOf(index, incarnation, now));
  return reply;
}

void ChiefMachine::OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now) {
  duties_.promotion.OnShardGone(index, incarnation);
  Advance(now);
}

void ChiefMachine::OnShardReplaced(uint32_t shard, absl::Time now) {
  const bool switched = job_.placement.moves.phase() == PartitionMoves::Phase::kSwitched;
  if (job_.placement.moves.Concerns(shard) && !switched) {
    CancelMoves(absl::UnavailableError(absl::StrCat("shard ", shard, " was started anew")), now);
  }
  if (!job_.placement.views.Owns(shard)) {  // Nothing is lost with it.
    if (job_.placement.views.has_map()) job_.placement.views.RemoveMember(shard);
    return;
  }
  const bool serving =
      job_.state == v1::JOB_STATE_RUNNING || job_.state == v1::JOB_STATE_CHECKPOINTING;
  if (!serving || !job_.takeover.settled()) return job_.recovery.rollback.OnReplaced(shard);
  duties_.promotion.ReplaceOrReturn(shard, now);
}

void ChiefMachine::OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now) {
  // It may have heard of a later chief; the store knows.
  if (absl::IsFailedPrecondition(reply.status())) job_.writer.Note();
  const std::optional<ShardCalls::Answer> answer = job_.calls.OnReply(call, std::move(reply), now);
  if (answer) {
    const Shard* shard = job_.placement.shards.Find(answer->shard);
    // What a process did that has been replaced since is as if it had not been done.
    const bool present = shard != nullptr && Raw(shard->incarnation) == answer->incarnation;
    if (present) OnAnswer(*answer, now);
  }
  if (job_.training.barrier.OnCommitted(job_.calls))
    job_.training.work.lanes()->TakeCursors(job_.training.barrier.held());
  job_.placement.heard_of_shards = true;
  Advance(now);
}

void ChiefMachine::OnAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  switch (answer.purpose) {
    case Purpose::kHold:
      return job_.training.barrier.OnHeld(std::get<v1::HoldRoundsReply>(*answer.reply),
                                          job_.placement.Owners(), job_.options.call_deadline,
                                          job_.calls);
    case Purpose::kClose:
      return duties_.closes.OnAnswer(answer);
    case Purpose::kSave:
      return duties_.checkpoints.OnAnswer(answer, now);
    case Purpose::kLoad:
      if (!duties_.loads.OnAnswer(answer, now)) return;
      return duties_.partial.OnLoaded(answer.shard,
                                      std::get<v1::LoadPartitionsReply>(*answer.reply), now);
    case Purpose::kJoin:
      return duties_.members.OnAnswer(answer, now);
    case Purpose::kMove:
      return job_.placement.moves.OnAnswer(answer.shard, answer.reply, now, job_.calls);
    case Purpose::kCommit:
    case Purpose::kRelease:
    case Purpose::kFlush:
      return;
  }
}

void ChiefMachine::CheckRefusal() {
  if (job_.ended() || job_.state == v1::JOB_STATE_PENDING) return;
  if (absl::Status refusal = job_.calls.Refusal(); !refusal.ok()) {
    job_.Fail(v1::FAILURE_KIND_ERROR, std::string(refusal.message()));
  }
}

// ---- workers ----

absl::StatusOr<v1::RegisterWorkerReply> ChiefMachine::RegisterWorker(
    const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  CAPSTAN_ASSIGN_OR_RETURN(const Membership::Registration registration,
                           job_.training.workers.Register(request, peer, now));
  duties_.grants.Release(registration.replaced);
  job_.training.end.draining.erase(request.name());
  if (registration.is_new) {
    job_.outbox.Log(
        LogEvent::Level::kInfo, "worker registered",
        {{"worker", request.name()}, {"replaces", registration.replaced.empty() ? "no" : "yes"}});
  }
  Advance(now);
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = job_.plan.spec;
  for (const Trainer& trainer : registration.worker->trainers) reply.add_trainers(Raw(trainer.id));
  return reply;
}

v1::WorkerHeartbeatReply ChiefMachine::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                                       absl::Time now) {
  v1::WorkerHeartbeatReply reply;
  if (superseded()) {
    reply.set_known(true);  // The chief that has come after knows better.
    return reply;
  }
  if (Worker* worker = job_.training.workers.Find(request); worker != nullptr) {
    job_.training.workers.Hear(*worker, request, now);
    for (const v1::LeaseReport& report : request.leases()) duties_.reports.Take(*worker, report);
    job_.takeover.OnReport(worker->name);
    job_.placement.views.ForgetTrainers(worker->name);
    if (worker->draining) {
      for (const v1::LeaseReport& report : duties_.grants.Unmentioned(request, *worker)) {
        duties_.reports.Take(*worker, report);
      }
    }
    if (worker->stuck) duties_.grants.Release(worker->trainer_ids());
    duties_.grants.SeeDraining(request, *worker);
    Advance(now);
    duties_.grants.Grant(*worker, now);
    if (duties_.state.BeginsOrEnds(*worker)) {
      duties_.state.RefreshView(now);  // It looks at all workers.
    } else {
      duties_.state.StoreAndPublish(now);
    }
    duties_.grants.FillReply(request, *worker, reply);
    reply.set_known(true);
  }
  reply.set_state(job_.told_state());
  reply.set_examples(job_.training.progress.examples());
  reply.set_examples_seal(job_.training.sealer.OfExamples(job_.placement.timeline(),
                                                          job_.training.progress.examples()));
  return reply;
}

// ---- people ----

v1::GetStatusReply ChiefMachine::Status(absl::Time now) const {
  v1::GetStatusReply reply = StatusOf(job_, now);
  reply.mutable_tasks()->set_retries(duties_.reports.retries());
  reply.mutable_tasks()->set_expirations(duties_.grants.expirations());
  duties_.watch.Fill(reply);
  v1::ReplicaStatus& replicas = *reply.mutable_replicas();  // Empty in a job that keeps none.
  if (!job_.replicas()) return reply;
  duties_.promotion.Fill(replicas);
  duties_.pairs.Fill(replicas);
  return reply;
}

void ChiefMachine::StopJob(std::string_view reason, absl::Time now) {
  if (job_.ended() || job_.training.end.begun()) return;
  const std::string why =
      absl::StrCat("stopped: ", reason.empty() ? std::string("on request") : std::string(reason));
  if (job_.state == v1::JOB_STATE_PENDING) {
    job_.Fail(v1::FAILURE_KIND_ERROR, absl::StrCat(why, ", before it had begun"));
    duties_.checkpoints.AnswerIfEnded();
    duties_.state.RefreshView(now);
    return;
  }
  job_.stop = why;
  Advance(now);
}

void ChiefMachine::NoteWarning(std::string_view about, std::string sentence) {
  job_.outbox.Warn(about, std::move(sentence));
}

void ChiefMachine::TakeCheckpoint(uint64_t asker, absl::Time now) {
  duties_.checkpoints.Ask(asker);
  Advance(now);
}

absl::StatusOr<v1::RebalanceReply> ChiefMachine::Rebalance(const v1::RebalanceRequest& request,
                                                           absl::Time now) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::RebalanceReply reply,
                           duties_.moves.planner().Rebalance(request, now));
  Advance(now);
  return reply;
}

// ---- the store, and time ----

void ChiefMachine::OnStateStored(const absl::Status& stored, absl::Time now) {
  duties_.state.OnStored(stored, now);
  Advance(now);
}

void ChiefMachine::OnManifestWritten(const absl::Status& written, absl::Time now) {
  duties_.checkpoints.OnManifestWritten(written, now);
  Advance(now);
}

void ChiefMachine::OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now) {
  duties_.recovery.OnManifestRead(std::move(manifest), now);
  Advance(now);
}

void ChiefMachine::Tick(absl::Time now) {
  duties_.grants.ReleaseSilent(now);
  duties_.watch.WatchStragglers(now);
  duties_.watch.WatchData();
  duties_.members.WatchSpares(now);
  duties_.watch.WatchIdleWorkers();
  duties_.moves.planner().WatchReplicas(now);
  duties_.watch.LogWaiting(now);
  CheckRefusal();
  job_.placement.heard_of_shards = true;  // Time has passed, which they may have been silent for.
  Advance(now);
  if (job_.state == v1::JOB_STATE_RUNNING && job_.training.progress.TakeCurveDue(now)) {
    job_.AddCurvePoint({}, now);
  }
}

// A partition that stands still is asked after often, and rounds are let go on at once.
absl::Time ChiefMachine::NextWake() const {
  return std::min(job_.calls.NextDue(Purpose::kMove), job_.calls.NextDue(Purpose::kRelease));
}

std::vector<Action> ChiefMachine::TakeActions() {
  std::vector<Action> actions = job_.outbox.Take();
  if (superseded()) {
    // Nobody must hear of anything any more.
    std::erase_if(actions,
                  [](const Action& action) { return !std::holds_alternative<LogEvent>(action); });
  }
  return actions;
}

}  // namespace capstan::chief
