#include "ps/shard/shard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/retry_hints.h"

namespace capstan::ps {
namespace {

bool IsBusy(const v1::PartitionOutcome& outcome) {
  return outcome.dense() == v1::OUTCOME_BUSY || outcome.sparse() == v1::OUTCOME_BUSY;
}

// When to push again to a partition that was busy.
absl::Duration HintOf(const Partition& partition, absl::Time now) {
  const std::optional<absl::Duration> frozen = partition.FrozenFor(now);
  return frozen ? FrozenHint(*frozen) : kBusyHint;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Shard>> Shard::Create(const v1::JobSpec& job,
                                                     const ShardIdentity& identity,
                                                     ShardMetrics& metrics, const Clock& clock) {
  CAPSTAN_ASSIGN_OR_RETURN(Catalog catalog, Catalog::Create(job));
  std::unique_ptr<Shard> shard(new Shard(std::move(catalog), identity, metrics, clock));
  CAPSTAN_RETURN_IF_ERROR(shard->LearnJob(job));
  return shard;
}

Shard::Shard(Catalog catalog, const ShardIdentity& identity, ShardMetrics& metrics,
             const Clock& clock)
    : parts_(std::move(catalog), identity, metrics, clock) {}

absl::Status Shard::LearnJob(const v1::JobSpec& job) {
  if (!parts_.catalog.IsOf(job)) {
    return absl::AbortedError(absl::StrCat(
        "job ", job.job(), " has begun anew with other tables, tensors, optimizers or policies; ",
        "shard ", Raw(parts_.identity.index), " ends, so that one that has these takes its place"));
  }
  parts_.coordinator.SetMaxRounds(job.train().max_steps());
  return absl::OkStatus();
}

absl::Status Shard::SetView(const v1::View& view) {
  CAPSTAN_ASSIGN_OR_RETURN(const ShardView::News news, parts_.view.Take(view));
  if (!news.newer) return absl::OkStatus();
  if (news.later) parts_.clocks.Restart();
  if (!news.over) parts_.clocks.SetQuorum(view);
  return absl::OkStatus();
}

// ---- pull ----

std::optional<WaiterId> Shard::Pull(std::unique_ptr<const PullQuery> query, absl::Time deadline,
                                    OnPulled done) {
  if (!parts_.clocks.needed() || query->head().evaluation() ||
      query->head().header().trainer() == 0) {
    done(PullNow(*query), absl::ZeroDuration());
    return std::nullopt;
  }
  const uint64_t clock = query->head().header().clock();
  const size_t bytes = query->bytes();
  const absl::Time begin = parts_.clock.Now();
  return parts_.clocks.Wait(clock, deadline, bytes,
                            [this, begin, query = std::move(query),
                             done = std::move(done)](const absl::Status& status) mutable {
                              const absl::Duration waited = parts_.clock.Now() - begin;
                              parts_.metrics.ObserveParkedPull(waited);
                              if (!status.ok()) return done(status, waited);
                              done(PullNow(*query), waited);
                            });
}

absl::StatusOr<grpc::ByteBuffer> Shard::PullNow(const PullQuery& query) {
  CAPSTAN_RETURN_IF_ERROR(parts_.view.CheckLease());
  CAPSTAN_RETURN_IF_ERROR(rounds_.LearnFrom(query.head()));
  const absl::Time now = parts_.clock.Now();
  wire::PayloadWriter writer(wire::kPullReply, nullptr, query.reply_shape());
  for (size_t i = 0; i < query.partitions().size(); ++i) {
    parts_.partitions.AskForNext(query.partitions(), i);
    Partition& partition =
        parts_.partitions[static_cast<PartitionIndex>(query.partitions()[i].partition)];
    CAPSTAN_RETURN_IF_ERROR(partition.Pull(query, i, now, writer));
  }
  return writer.Finish();
}

// ---- push ----

absl::StatusOr<std::shared_ptr<const PushMessage>> Shard::ReadPush(const grpc::ByteBuffer& buffer) {
  if (!parts_.catalog.KeepsGradients()) return PushMessage::Read(buffer, parts_.catalog, nullptr);
  absl::StatusOr<Reservation> room = waiting_gradients().TryHold(buffer.Length());
  if (*room == nullptr) {
    CAPSTAN_ASSIGN_OR_RETURN(const v1::PushRequest head, PushMessage::ReadHead(buffer));
    CAPSTAN_RETURN_IF_ERROR(parts_.view.CheckHeader(head.header()));
    CAPSTAN_RETURN_IF_ERROR(parts_.seals.CheckPush(head));
    // The gradients that wait may wait for a commit that this push carries: takes it in, or asks
    // for it, even if the push is refused.
    CAPSTAN_RETURN_IF_ERROR(rounds_.LearnFrom(head));
    // Partitions may not have passed the rounds yet, because they may have got no request.
    if (parts_.rounds.KeepsAny()) rounds_.Sweep();
    room = rounds_.MayWait(head)
               ? parts_.memory.Reserve(MemoryUse::kWaitingGradients, buffer.Length())
               : parts_.memory.ReserveAnyway(MemoryUse::kWaitingGradients, buffer.Length());
    CAPSTAN_RETURN_IF_ERROR(room.status());
  }
  return PushMessage::Read(buffer, parts_.catalog, *std::move(room));
}

absl::StatusOr<Shard::Pushed> Shard::Push(const std::shared_ptr<const PushMessage>& push) {
  const v1::PushRequest& head = push->head();
  CAPSTAN_RETURN_IF_ERROR(parts_.seals.CheckPush(head));
  CAPSTAN_RETURN_IF_ERROR(CheckClock(head.header()));
  CAPSTAN_RETURN_IF_ERROR(rounds_.LearnFrom(head));
  const absl::Time now = parts_.clock.Now();
  const uint64_t progress = parts_.seals.ProgressOf(head);
  Pushed pushed;
  v1::PushReply& reply = pushed.reply;
  reply.set_asks_for_commits(head.has_stage());
  absl::Duration hint;  // The longest hint of all partitions.
  bool settled = true;
  for (size_t i = 0; i < push->partitions().size(); ++i) {
    parts_.partitions.AskForNext(push->partitions(), i);
    v1::PartitionOutcome& outcome = *reply.add_partitions();
    Partition& partition =
        parts_.partitions[static_cast<PartitionIndex>(push->partitions()[i].partition)];
    outcome = partition.Push(push, i, progress, now, pushed.replicated);
    CAPSTAN_FAILPOINT("push.partition_applied");
    settled = settled && IsSettled(outcome.dense()) && IsSettled(outcome.sparse());
    if (IsBusy(outcome)) hint = std::max(hint, HintOf(partition, now));
  }
  reply.set_retry_after_seconds(absl::ToDoubleSeconds(hint));
  // A step whose push must be repeated is not finished: other trainers must not get ahead of it
  // yet.
  if (settled && head.header().trainer() != 0 && head.header().clock() != 0) {
    const ViewEpoch by = ViewEpochFromProto(head.header().epoch());
    pushed.released =
        parts_.clocks.OnFinished(TrainerId{head.header().trainer()}, head.header().clock(), by);
  }
  return pushed;
}

// A trainer reports its clock for the partitions that are here according to its own view. If its
// view is older than ours, it does not know partitions that have come since; ClockShell::OnFinished
// ignores that clock, and the trainer reports again. If its view is newer, and may give more
// partitions to this shard, it would report too early: it has to retry.
absl::Status Shard::CheckClock(const v1::RequestHeader& header) const {
  if (!parts_.clocks.needed() || header.trainer() == 0 || header.clock() == 0)
    return absl::OkStatus();
  const std::shared_ptr<const OwnView> view = parts_.view.newest();
  const ViewEpoch by = ViewEpochFromProto(header.epoch());
  if (by <= view->epoch() || !view->AwaitsAny()) return absl::OkStatus();
  return absl::UnavailableError("partitions are on their way here, and their view is, too");
}

// ---- the chief's calls ----

absl::Status Shard::CommitRound(const v1::CommitRoundRequest& request, ReplicaWait& replicated) {
  CAPSTAN_RETURN_IF_ERROR(
      rounds_.Learn(request.header().timeline(), request.closed(), RoundFollower::Teller::kChief));
  const absl::Time now = parts_.clock.Now();
  return parts_.partitions.ForEachServed([&](PartitionIndex index, Partition& partition) {
    const absl::Status committed = partition.CommitRound(request.closed().round(), now, replicated);
    if (committed.ok()) return committed;
    return absl::Status(committed.code(),
                        absl::StrCat("partition ", Raw(index), ": ", committed.message()));
  });
}

absl::Status Shard::CloseStreams(const v1::CloseStreamsRequest& request, ReplicaWait& replicated) {
  const Timeline timeline{request.header().timeline()};
  return parts_.partitions.ForEachServed([&](PartitionIndex, Partition& partition) {
    for (const v1::StreamClose& close : request.streams()) {
      CAPSTAN_RETURN_IF_ERROR(
          partition.CloseStream(timeline, {close.stream()}, close.batches(), replicated));
    }
    return absl::OkStatus();
  });
}

uint64_t Shard::Flush(ReplicaWait& replicated) {
  const absl::Time now = parts_.clock.Now();
  uint64_t gradients = 0;
  (void)parts_.partitions.ForEachServed([&](PartitionIndex, Partition& partition) {
    gradients += partition.Flush(now, replicated);
    return absl::OkStatus();
  });
  return gradients;
}

// ---- housekeeping ----

void Shard::ExpireSessions(absl::Time now) {
  parts_.partitions.ForEach(
      [now](PartitionIndex, Partition& partition) { partition.ExpireSessions(now); });
}

void Shard::Tick() {
  const absl::Time now = parts_.clock.Now();
  parts_.clocks.Tick(now);
  parts_.coordinator.Tick();
  backups_.Tick();
  parts_.pieces.DropSilent(now);
  parts_.replica_pieces.DropSilent(now);
}

v1::ShardReport Shard::Report(const ShardFacts& facts) const {
  v1::ShardReport report = ReportOf(facts);
  parts_.metrics.Report(report);
  backups_.AddBroken(report);
  return report;
}

}  // namespace capstan::ps
