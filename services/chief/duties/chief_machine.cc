#include "chief/duties/chief_machine.h"

#include <optional>
#include <utility>

#include "capstan/base/status.h"
#include "chief/duties/status_report.h"

namespace capstan::chief {

ChiefMachine::ChiefMachine(const ChiefOptions& options, JobPlan plan, absl::Time now,
                           const JobHistory& history)
    : job_(options, std::move(plan), history, now) {
  if (history.state) duties_.state.Inherit(*history.state, now);
  duties_.state.RefreshView(now);
}

ChiefMachine::ChiefMachine(const ChiefMachine& other) : job_(other.job_) {
  duties_ = other.duties_;
}

// ---- shards ----

absl::StatusOr<v1::RegisterShardReply> ChiefMachine::RegisterShard(
    const v1::RegisterShardRequest& request, absl::Time now, bool watched) {
  if (duties_.shards.Replaces(request)) {
    duties_.promotion.Listen(now);
    CAPSTAN_RETURN_IF_ERROR(duties_.shards.CheckFree(request.index(), watched, now));
    CAPSTAN_RETURN_IF_ERROR(duties_.promotion.MayTakePlace(request.index(), now));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const ShardTable::Arrival arrival,
                           duties_.shards.Register(request, now));
  if (arrival == ShardTable::Arrival::kReplaced) duties_.promotion.OnReplaced(request.index(), now);
  duties_.Advance(now);
  return duties_.shards.Welcome();
}

uint64_t ChiefMachine::ShardIncarnation(uint32_t index) const {
  const Shard* shard = job_.placement.shards.Find(index);
  return shard == nullptr ? 0 : Raw(shard->incarnation);
}

v1::ShardHeartbeatReply ChiefMachine::ShardHeartbeat(const v1::ShardHeartbeatRequest& request,
                                                     absl::Time now) {
  v1::ShardHeartbeatReply reply;
  const uint32_t index = request.index();
  const Shard* shard = duties_.shards.Hear(request, now);
  if (shard == nullptr) return reply;
  duties_.partial.Hear(index, request.report());
  duties_.pairs.Hear(*shard);
  duties_.Advance(now);
  reply.set_known(true);
  reply.set_may_leave(request.draining() && duties_.members.MayLeave(index, now));
  reply.set_lease_seconds(duties_.promotion.LeaseOf(index, request.incarnation(), now));
  return reply;
}

void ChiefMachine::OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now) {
  duties_.promotion.OnShardGone(index, incarnation, now);
  duties_.Advance(now);
}

void ChiefMachine::OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now) {
  const std::optional<ShardCalls::Answer> answer =
      duties_.calls.OnReply(call, std::move(reply), now);
  if (answer) {
    duties_.standstill.OnAnswer(*answer);
    duties_.closes.OnAnswer(*answer);
    duties_.checkpoints.OnAnswer(*answer, now);
    if (duties_.loads.OnAnswer(*answer, now)) duties_.partial.OnLoaded(*answer, now);
    duties_.model.OnAnswer(*answer, now);
    duties_.members.OnAnswer(*answer, now);
    duties_.moves.OnAnswer(*answer, now);
  }
  duties_.standstill.SeeBarrier();
  duties_.Advance(now);
}

// ---- workers ----

absl::StatusOr<v1::RegisterWorkerReply> ChiefMachine::RegisterWorker(
    const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer) {
  CAPSTAN_ASSIGN_OR_RETURN(const Membership::Registration registration,
                           duties_.workers.Register(request, peer, now));
  duties_.grants.Release(registration.replaced);
  duties_.Advance(now);
  return duties_.workers.Welcome(*registration.worker);
}

v1::WorkerHeartbeatReply ChiefMachine::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                                       absl::Time now) {
  v1::WorkerHeartbeatReply reply;
  if (Worker* worker = duties_.workers.Hear(request, now); worker != nullptr) {
    for (const v1::LeaseReport& report : request.leases()) duties_.reports.Take(*worker, report);
    for (const v1::LeaseReport& report : duties_.grants.Unmentioned(request, *worker)) {
      duties_.reports.Take(*worker, report);
    }
    duties_.grants.Hear(request, *worker);
    duties_.Advance(now);
    duties_.grants.Grant(*worker, now);
    duties_.state.RefreshViewOf(*worker, now);
    duties_.grants.FillReply(request, *worker, reply);
  }
  duties_.workers.FillReply(reply);
  return reply;
}

// ---- people ----

v1::GetStatusReply ChiefMachine::Status(absl::Time now) const {
  v1::GetStatusReply reply = StatusOf(job_, now);
  reply.mutable_tasks()->set_retries(duties_.reports.retries());
  reply.mutable_tasks()->set_expirations(duties_.grants.expirations());
  duties_.watch.Fill(reply);
  duties_.promotion.Fill(*reply.mutable_replicas());
  duties_.pairs.Fill(*reply.mutable_replicas());
  return reply;
}

void ChiefMachine::StopJob(std::string_view reason, absl::Time now) {
  duties_.end.Stop(reason);
  duties_.Advance(now);
}

void ChiefMachine::TakeCheckpoint(uint64_t asker, absl::Time now) {
  duties_.checkpoints.Ask(asker);
  duties_.Advance(now);
}

absl::StatusOr<v1::RebalanceReply> ChiefMachine::Rebalance(const v1::RebalanceRequest& request,
                                                           absl::Time now) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::RebalanceReply reply,
                           duties_.moves.planner().Rebalance(request, now));
  duties_.Advance(now);
  return reply;
}

// ---- the store, and time ----

void ChiefMachine::OnStateStored(const absl::Status& stored, absl::Time now) {
  duties_.state.OnStored(stored, now);
  duties_.Advance(now);
}

void ChiefMachine::OnManifestWritten(const std::string& uri, const absl::Status& written,
                                     absl::Time now) {
  duties_.checkpoints.OnManifestWritten(uri, written, now);
  duties_.Advance(now);
}

void ChiefMachine::OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                                  absl::Time now) {
  duties_.recovery.OnManifestRead(uri, std::move(manifest), now);
  duties_.Advance(now);
}

}  // namespace capstan::chief
