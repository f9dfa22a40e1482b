#include "ps/shard/shard.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/consistency/decisions.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/rpc/limits.h"
#include "capstan/store/memory_limits.h"
#include "ps/shard/retry_hints.h"

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
    : catalog_(std::move(catalog)),
      identity_(identity),
      metrics_(metrics),
      clock_(clock),
      replicated_(catalog_.job().replicas() > 0),
      rounds_([this](const RoundCommit& closed) { streams_.TellClosed(closed); }),
      context_{catalog_, rounds_, counted_, metrics_, slabs_, kept_},
      seals_(catalog_.lanes()),
      clocks_(catalog_, replicated_ ? &streams_ : nullptr),
      coordinator_(catalog_, identity_, seals_, clock_) {
  for (uint32_t i = 0; i < catalog_.job().partition_count(); ++i) {
    partitions_.push_back(std::make_unique<Partition>(static_cast<PartitionIndex>(i), context_));
  }
}

absl::Status Shard::LearnJob(const v1::JobSpec& job) {
  if (!catalog_.IsOf(job)) {
    return absl::AbortedError(absl::StrCat(
        "job ", job.job(), " has begun anew with other tables, tensors, optimizers or policies; ",
        "shard ", Raw(identity_.index), " ends, so that one that has these takes its place"));
  }
  coordinator_.SetMaxRounds(job.train().max_steps());
  return absl::OkStatus();
}

// ---- the view ----

absl::Status Shard::SetView(const v1::View& view) {
  bool later = false;
  bool over = false;  // The view's timeline is over: its clocks are not those of the present one.
  {
    absl::MutexLock lock(&view_mu_);
    if (EpochOf(view) <= epoch_) return absl::OkStatus();
    if (view.owners_size() > 0 && static_cast<size_t>(view.owners_size()) != partitions_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the view maps ", view.owners_size(), " partitions, the job has ", partitions_.size()));
    }
    epoch_ = EpochOf(view);
    view_ = std::make_shared<const OwnView>(view, identity_);
    later = Hear(view.epoch().term(), view.timeline());
    over = view.timeline() < heard_timeline_;
    CAPSTAN_FAILPOINT("shard.view_taken");
  }
  if (later) clocks_.Restart();
  if (!over) clocks_.SetQuorum(view);
  return absl::OkStatus();
}

// A later timeline ends what is served of an earlier one.
bool Shard::Hear(uint64_t term, uint64_t timeline) {
  heard_term_ = std::max(heard_term_, term);
  if (timeline <= heard_timeline_) return false;
  heard_timeline_ = timeline;
  timeline_.store(0, std::memory_order_release);
  return true;
}

absl::Status Shard::CheckTarget(const v1::RequestHeader& header) const {
  if (header.wire_version() != kWireVersion) {
    return absl::UnimplementedError(absl::StrCat("wire version ", header.wire_version(),
                                                 " is not spoken here, only ", kWireVersion));
  }
  if (header.target_incarnation() == Raw(identity_.incarnation)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the request is meant for incarnation ",
                                                    absl::Hex(header.target_incarnation()),
                                                    " of shard ", Raw(identity_.index)));
}

absl::Status Shard::CheckHeader(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(CheckTarget(header));
  const uint64_t timeline = this->timeline();
  if (timeline == 0) return absl::UnavailableError("the shard is loading its partitions");
  if (header.timeline() == timeline) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the request is of timeline ", header.timeline(), ", this is ", timeline));
}

absl::Status Shard::CheckOrder(const v1::RequestHeader& header) {
  CAPSTAN_RETURN_IF_ERROR(CheckTarget(header));
  absl::MutexLock lock(&view_mu_);
  if (header.epoch().term() < heard_term_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the order is of term ", header.epoch().term(), ", the chief's is ", heard_term_));
  }
  heard_term_ = header.epoch().term();
  return absl::OkStatus();
}

// ---- its contents ----

absl::Status Shard::BeginLoad(uint64_t timeline) {
  bool later = false;
  {
    absl::MutexLock lock(&view_mu_);
    if (timeline == 0 || timeline < heard_timeline_) {
      return absl::FailedPreconditionError(absl::StrCat("ordered to load timeline ", timeline,
                                                        ", the present one is ", heard_timeline_));
    }
    later = Hear(heard_term_, timeline);
    timeline_.store(0, std::memory_order_release);
  }
  if (later) clocks_.Restart();
  CAPSTAN_FAILPOINT("load.timeline_begun");
  return absl::OkStatus();
}

void Shard::Unload() {
  coordinator_.End();
  absl::MutexLock lock(&contents_mu_);
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    if (partition->loaded()) partition->Unload();
  }
}

void Shard::Load(PartitionIndex index, PartitionContent content) {
  partitions_[static_cast<size_t>(Raw(index))]->Load(std::move(content));
}

absl::Status Shard::Serve(uint64_t timeline, const RoundsStart& rounds) {
  rounds_.Reset(Timeline{timeline}, rounds.passed);
  counted_.Reset(Timeline{timeline});
  if (catalog_.HasSync() && partitions_[0]->loaded()) {
    coordinator_.Begin(timeline, rounds.coordinator);
  } else {
    coordinator_.End();
  }
  absl::MutexLock lock(&view_mu_);
  if (heard_timeline_ != timeline) {
    return absl::FailedPreconditionError(
        absl::StrCat("timeline ", timeline, " is over, ", heard_timeline_, " has begun"));
  }
  CAPSTAN_FAILPOINT("load.before_serving");
  timeline_.store(timeline, std::memory_order_release);
  CAPSTAN_FAILPOINT("load.serving");
  return absl::OkStatus();
}

// ---- pull ----

std::optional<WaiterId> Shard::Pull(std::unique_ptr<const PullQuery> query, absl::Time deadline,
                                    OnPulled done) {
  if (!clocks_.needed() || query->head().evaluation() || query->head().header().trainer() == 0) {
    done(PullNow(*query), absl::ZeroDuration());
    return std::nullopt;
  }
  const uint64_t clock = query->head().header().clock();
  const size_t bytes = query->bytes();
  const absl::Time begin = clock_.Now();
  return clocks_.Wait(clock, deadline, bytes,
                      [this, begin, query = std::move(query),
                       done = std::move(done)](const absl::Status& status) mutable {
                        const absl::Duration waited = clock_.Now() - begin;
                        metrics_.ObserveParkedPull(waited);
                        if (!status.ok()) return done(status, waited);
                        done(PullNow(*query), waited);
                      });
}

absl::StatusOr<grpc::ByteBuffer> Shard::PullNow(const PullQuery& query) {
  CAPSTAN_RETURN_IF_ERROR(CheckLease());
  CAPSTAN_RETURN_IF_ERROR(LearnRoundOf(query.head()));
  const absl::Time now = clock_.Now();
  wire::PayloadWriter writer(wire::kPullReply, nullptr, query.reply_shape());
  for (size_t i = 0; i < query.partitions().size(); ++i) {
    Partition& partition = *partitions_[query.partitions()[i].partition];
    CAPSTAN_RETURN_IF_ERROR(partition.Pull(query, i, now, writer));
  }
  return writer.Finish();
}

// ---- push ----

absl::StatusOr<std::shared_ptr<const PushMessage>> Shard::ReadPush(const grpc::ByteBuffer& buffer) {
  const size_t most = MostPushBytes(replicated_);
  if (buffer.Length() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("a push of ", buffer.Length(), " bytes, and it may have ", most));
  }
  if (!catalog_.KeepsGradients()) return PushMessage::Read(buffer, catalog_, nullptr);
  absl::StatusOr<Reservation> room = waiting_gradients().TryHold(buffer.Length());
  if (*room == nullptr) {
    CAPSTAN_ASSIGN_OR_RETURN(const v1::PushRequest head, PushMessage::ReadHead(buffer));
    CAPSTAN_RETURN_IF_ERROR(CheckHeader(head.header()));
    CAPSTAN_RETURN_IF_ERROR(seals_.CheckPush(head));
    // The gradients that wait may wait for a commit that this push carries: learn it, or ask for
    // it, even if the push is refused.
    CAPSTAN_RETURN_IF_ERROR(LearnRoundOf(head));
    // Partitions may not have passed the rounds yet, as no request may have come to them.
    if (rounds_.KeepsAny()) SweepRounds();
    room = MayWait(head) ? memory_.Reserve(MemoryUse::kWaitingGradients, buffer.Length())
                         : memory_.ReserveAnyway(MemoryUse::kWaitingGradients, buffer.Length());
    CAPSTAN_RETURN_IF_ERROR(room.status());
  }
  return PushMessage::Read(buffer, catalog_, *std::move(room));
}

absl::StatusOr<Shard::Pushed> Shard::Push(const std::shared_ptr<const PushMessage>& push) {
  const v1::PushRequest& head = push->head();
  CAPSTAN_RETURN_IF_ERROR(seals_.CheckPush(head));
  CAPSTAN_RETURN_IF_ERROR(CheckClock(head.header()));
  CAPSTAN_RETURN_IF_ERROR(LearnRoundOf(head));
  const absl::Time now = clock_.Now();
  const uint64_t progress = seals_.ProgressOf(head);
  Pushed pushed;
  v1::PushReply& reply = pushed.reply;
  reply.set_asks_for_commits(head.has_stage());
  absl::Duration hint;  // The longest one of the partitions.
  bool settled = true;
  for (size_t i = 0; i < push->partitions().size(); ++i) {
    v1::PartitionOutcome& outcome = *reply.add_partitions();
    Partition& partition = *partitions_[push->partitions()[i].partition];
    outcome = partition.Push(push, i, progress, now, pushed.replicated);
    CAPSTAN_FAILPOINT("push.partition_applied");
    settled = settled && IsSettled(outcome.dense()) && IsSettled(outcome.sparse());
    if (IsBusy(outcome)) hint = std::max(hint, HintOf(partition, now));
  }
  reply.set_retry_after_seconds(absl::ToDoubleSeconds(hint));
  // A step whose push must come again is not finished: other trainers must not run ahead of it yet.
  if (settled && head.header().trainer() != 0 && head.header().clock() != 0) {
    const ViewEpoch by = ViewEpochFromProto(head.header().epoch());
    pushed.released =
        clocks_.OnFinished(TrainerId{head.header().trainer()}, head.header().clock(), by);
  }
  return pushed;
}

// ---- the chief's calls ----

absl::Status Shard::CommitRound(const v1::CommitRoundRequest& request, ReplicaWait& replicated) {
  CAPSTAN_RETURN_IF_ERROR(
      LearnRound(request.header().timeline(), request.closed(), Teller::kChief));
  const absl::Time now = clock_.Now();
  return ForEachPartition([&](PartitionIndex index, Partition& partition) {
    const absl::Status committed = partition.CommitRound(request.closed().round(), now, replicated);
    if (committed.ok()) return committed;
    return absl::Status(committed.code(),
                        absl::StrCat("partition ", Raw(index), ": ", committed.message()));
  });
}

absl::Status Shard::CloseStreams(const v1::CloseStreamsRequest& request, ReplicaWait& replicated) {
  const Timeline timeline{request.header().timeline()};
  return ForEachPartition([&](PartitionIndex, Partition& partition) {
    for (const v1::StreamClose& close : request.streams()) {
      CAPSTAN_RETURN_IF_ERROR(
          partition.CloseStream(timeline, {close.stream()}, close.batches(), replicated));
    }
    return absl::OkStatus();
  });
}

uint64_t Shard::Flush(ReplicaWait& replicated) {
  const absl::Time now = clock_.Now();
  uint64_t gradients = 0;
  (void)ForEachPartition([&](PartitionIndex, Partition& partition) {
    gradients += partition.Flush(now, replicated);
    return absl::OkStatus();
  });
  return gradients;
}

absl::Status Shard::ForEachPartition(
    absl::FunctionRef<absl::Status(PartitionIndex, Partition&)> visit) {
  for (size_t i = 0; i < partitions_.size(); ++i) {
    if (!partitions_[i]->serves()) continue;
    CAPSTAN_RETURN_IF_ERROR(visit(static_cast<PartitionIndex>(i), *partitions_[i]));
  }
  return absl::OkStatus();
}

// Without synchronous parts one partition is copied after the other, so the size of a partition
// bounds what is kept.
void Shard::LimitKept() {
  if (!catalog_.HasSync()) return;
  kept_.SetLimit(static_cast<int64_t>(KeptImagesLimit(Facts().bytes)));
}

// The machine's own limit holds until SetMemory is called.
static_assert(ClockMachine::kMaxParkedBytes ==
              MemoryLimit(MemoryUse::kWaitingPulls, std::numeric_limits<uint64_t>::max()));

void Shard::SetMemory(uint64_t bytes) {
  memory_.SetMemory(bytes);
  clocks_.SetParkedLimit(memory_.of(MemoryUse::kWaitingPulls).limit());
  streams_.SetLimit(memory_.of(MemoryUse::kReplicas).limit());
}

void Shard::LimitWaiting(const v1::ShardReport& report) {
  if (NeedsRoomForAll(catalog_.job())) return;
  const uint64_t parameters = report.parameter_bytes();
  const uint64_t images = catalog_.HasSync() ? MostImages(parameters) : 0;
  memory_.LimitWaiting(
      kShardProcessBytes + parameters + report.backup_bytes() + images + streams_.bytes(),
      /*copies=*/replicated_ ? 2 : 1);
}

// ---- housekeeping ----

void Shard::ExpireSessions(absl::Time now) {
  for (const std::unique_ptr<Partition>& partition : partitions_) partition->ExpireSessions(now);
}

void Shard::Tick() {
  const absl::Time now = clock_.Now();
  clocks_.Tick(now);
  coordinator_.Tick();
  pieces_.DropSilent(now);
}

}  // namespace capstan::ps
