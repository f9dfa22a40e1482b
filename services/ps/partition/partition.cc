#include "ps/partition/partition.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "capstan/rpc/status.h"
#include "capstan/wire/floats.h"
#include "ps/partition/retry_hints.h"
#include "ps/partition/timed_lock.h"
#include "ps/partition/traced.h"
#include "ps/partition/traced_rounds.h"

namespace capstan::ps {
namespace {

StreamPush StreamOf(const v1::StreamPush& name) {
  return {
      {name.stream()}, name.seq(), GenerationFromProto(name.generation()), name.low_watermark()};
}

absl::Status ToStatus(PullAdmission admission) {
  switch (admission) {
    case PullAdmission::kGo:
      return absl::OkStatus();
    case PullAdmission::kRoundClosed:
      return absl::AbortedError("the round of this pull is over");
    case PullAdmission::kNotYet:
      break;
  }
  return WithRetryAfter(absl::ResourceExhaustedError("this round is not open here yet"),
                        kNotYetHint);
}

v1::PartitionOutcome AllParts(const PushShare& gradient, v1::Outcome refusal) {
  const wire::PartitionPart& part = gradient.push->partitions()[gradient.place];
  v1::PartitionOutcome outcome;
  outcome.set_partition(part.partition);
  if (gradient.push->Holds(part, Part::kDense)) outcome.set_dense(refusal);
  if (gradient.push->Holds(part, Part::kSparse)) outcome.set_sparse(refusal);
  return outcome;
}

// Returns how many rows, or blocks, of the part are in the gradient.
uint64_t RowsOf(Part part, const PushShare& gradient) {
  const wire::PartitionPart& share = gradient.push->partitions()[gradient.place];
  if (part == Part::kDense) return gradient.push->blocks_of(share).size();
  uint64_t rows_pushed = 0;
  for (const PushMessage::Rows& rows : gradient.push->rows_of(share)) {
    rows_pushed += rows.gradients.keys.size();
  }
  return rows_pushed;
}

}  // namespace

Partition::Partition(PartitionIndex index, const PartitionContext& context)
    : index_(index),
      context_(context),
      machine_(MachineOptions(context.catalog, Timeline{0})),
      applier_(context.catalog, context.metrics),
      copy_(context.kept) {}

void Partition::Load(PartitionContent content) { Take(std::move(content), std::nullopt); }

void Partition::Take(PartitionContent content, std::optional<ViewEpoch> standby) {
  UpdateApplier::Gradients dropped;
  BackupLink ended;
  {
    absl::MutexLock lock(&mu_);
    store_.swap(content.store);
    std::swap(machine_, content.machine);
    dropped = applier_.Begin(store_.get(), /*observed=*/!standby);
    CountPutOff();
    copy_.Reset(store_.get(), content.base);
    origin_ = content.origin;
    frozen_for_.reset();
    ended = std::exchange(backup_, BackupLink());
    standby_ = standby;
    pulled_rows_ = pushed_rows_ = 0;
    stands_by_.store(standby.has_value(), std::memory_order_release);
    loaded_.store(store_ != nullptr, std::memory_order_release);
    if (store_ != nullptr && origin_ == ViewEpoch{}) {
      TraceLoaded(index_, machine_.timeline(), content.base);
    }
  }
  // The previous content is freed at the end of this function, without the lock.
  ended.Release(absl::UnavailableError("the partition is not served here any more"));
}

void Partition::Unload() {
  Load({nullptr, PartitionMachine(MachineOptions(context_.catalog, Timeline{0})), /*base=*/""});
}

// ---- pull ----

absl::Status Partition::Pull(const PullQuery& query, size_t i, absl::Time now,
                             wire::PayloadWriter& writer) {
  const wire::PartitionPart& part = query.partitions()[i];
  const TimedLock lock(mu_, context_.metrics);
  if (Timeline{query.head().header().timeline()} != machine_.timeline() || standby_) {
    return absl::FailedPreconditionError(absl::StrCat("partition ", part.partition,
                                                      " is not here, in timeline ",
                                                      query.head().header().timeline()));
  }
  if (!query.head().evaluation()) {
    if (query.head().round() > 0) CatchUpLocked(now);
    CAPSTAN_RETURN_IF_ERROR(ToStatus(machine_.AdmitPull(query.head().round())));
    // The next owner may have accepted pushes of other trainers meanwhile, of which this shard does
    // not know.
    if (frozen_for_ && context_.catalog.HasSsp()) {
      return WithRetryAfter(
          absl::ResourceExhaustedError("the partition is on its way to another shard"),
          FrozenHint(now - frozen_since_));
    }
  }
  TracePulled(index_, query.head(), machine_.round());
  writer.SetVersions(i, machine_.version(Part::kDense), machine_.version(Part::kSparse));
  pulled_rows_ += part.blocks_end - part.blocks_begin;
  wanted_.clear();
  for (size_t t = part.tables_begin; t < part.tables_end; ++t) {
    pulled_rows_ += query.keys(t).size();
    wanted_.push_back({store_->FindTable(query.table(t)), query.keys(t)});
  }
  VisitAhead(wanted_, RowUse::kPull, [&](size_t i) {
    mu_.AssertHeld();  // The analysis of locks does not see into a lambda.
    WriteRows(query, part.tables_begin + i, writer);
  });
  for (size_t b = part.blocks_begin; b < part.blocks_end; ++b) WriteBlock(query, b, writer);
  return absl::OkStatus();
}

void Partition::WriteRows(const PullQuery& query, size_t table, wire::PayloadWriter& writer) {
  const Table& rows = *store_->FindTable(query.table(table));
  char* const to = writer.table(table).values;
  char* const versions = writer.table(table).updates;
  if (query.head().dtype() != v1::DTYPE_BFLOAT16) {
    rows.Pull(query.keys(table), to, versions);
    return;
  }
  floats_.resize(query.keys(table).size() * rows.dim());
  rows.Pull(query.keys(table), floats_.data(), versions);
  wire::PutFloats(v1::DTYPE_BFLOAT16, floats_.data(), floats_.size(), to);
}

void Partition::WriteBlock(const PullQuery& query, size_t block, wire::PayloadWriter& writer) {
  const absl::Span<const float> weights = store_->blocks().Weights(query.block(block));
  wire::PutFloats(query.head().dtype(), weights.data(), weights.size(), writer.block(block).values);
}

// ---- push ----

v1::PartitionOutcome Partition::Push(const std::shared_ptr<const PushMessage>& push, size_t i,
                                     uint64_t progress_examples, absl::Time now,
                                     ReplicaWait& replicated) {
  const PushShare gradient = {push, i};
  const TimedLock lock(mu_, context_.metrics);
  if (standby_) return AllParts(gradient, v1::OUTCOME_NOT_OWNER);
  if (backup_.full()) return AllParts(gradient, v1::OUTCOME_BUSY);
  if (push->head().has_stage()) CatchUpLocked(now);
  const bool current = Timeline{push->head().header().timeline()} == machine_.timeline();
  // While the partition is frozen for a move its backup is sent nothing, so progress must not rise.
  if (current && !machine_.moving()) applier_.RaiseProgress(progress_examples);
  HoldBackIfFull();
  const v1::PartitionOutcome outcome = PushParts(gradient, now);
  TracePushed(gradient, outcome);
  TraceStaged(gradient, outcome);
  if (backup_.exists()) TellPush(gradient, outcome, replicated);
  return outcome;
}

v1::PartitionOutcome Partition::PushParts(const PushShare& gradient, absl::Time now) {
  const wire::PartitionPart& part = gradient.push->partitions()[gradient.place];
  v1::PartitionOutcome outcome;
  outcome.set_partition(part.partition);
  if (gradient.push->Holds(part, Part::kDense)) {
    outcome.set_dense(PushPart(Part::kDense, gradient, now));
  }
  if (gradient.push->Holds(part, Part::kSparse)) {
    outcome.set_sparse(PushPart(Part::kSparse, gradient, now));
  }
  return outcome;
}

v1::Outcome Partition::PushPart(Part part, const PushShare& gradient, absl::Time now) {
  const v1::PushRequest& head = gradient.push->head();
  const wire::PartitionPart& share = gradient.push->partitions()[gradient.place];
  const Timeline timeline{head.header().timeline()};
  const GradientHandle handle = applier_.Keep(gradient);
  Decision decision;
  if (machine_.IsSync(part)) {
    const v1::LaneStage& stage = head.stage();
    decision = machine_.PushStage(part, timeline,
                                  {static_cast<LaneIndex>(stage.lane()),
                                   GenerationFromProto(stage.generation()), stage.round(), handle});
  } else {
    const uint64_t pulled = part == Part::kDense ? share.dense_version : share.sparse_version;
    const bool by_rows = part == Part::kSparse && applier_.JudgedByRows(gradient);
    const bool elsewhere = head.counted_in() != 0 && head.counted_in() - 1 != share.partition;
    decision = machine_.PushStream(
        part, timeline, {StreamOf(head.stream()), pulled, handle, by_rows, elsewhere}, now);
  }
  CAPSTAN_FAILPOINT("partition.decided");
  if (decision.outcome == v1::OUTCOME_APPLIED || decision.outcome == v1::OUTCOME_QUEUED ||
      decision.outcome == v1::OUTCOME_STAGED) {
    pushed_rows_ += RowsOf(part, gradient);
  }
  const bool fresh = (standby_ && applier_.PutOff(decision)) || CarryOut(decision, now);
  if (decision.outcome == v1::OUTCOME_APPLIED && !fresh) decision.outcome = v1::OUTCOME_DROPPED;
  if (!standby_) context_.metrics.CountOutcome(decision.outcome);
  return decision.outcome;
}

bool Partition::CarryOut(const Decision& decision, absl::Time now) {
  const bool fresh = applier_.CarryOut(decision, now);
  CountPutOff();
  if (copy_.reading()) copy_.CountKept();
  return fresh;
}

// ---- the rest ----

void Partition::CatchUpLocked(absl::Time now) {
  // A backup passes only the rounds that its owner has passed.
  if (store_ == nullptr || standby_) return;
  HoldBackIfFull();
  const uint64_t before = machine_.round();
  PassRounds(std::numeric_limits<uint64_t>::max(), now);
  if (machine_.round() == before) return;
  ReplicaWait nobody;  // Nobody has to wait: a round is the same whoever sends it.
  backup_.TellPassed(machine_.round(), nobody);
}

void Partition::PassRounds(uint64_t last, absl::Time now) {
  std::vector<RoundCommit> sets = context_.rounds.After(machine_.round());
  std::erase_if(sets, [last](const RoundCommit& set) { return set.round > last; });
  if (sets.empty()) return;
  const uint64_t before = machine_.round();
  const Decision decision = machine_.CatchUp(sets);
  CAPSTAN_FAILPOINT("round.decided");
  CarryOut(decision, now);
  TracePassed(index_, before, machine_.round(), sets, decision);
}

void Partition::AddCounted(absl::Time now) {
  absl::MutexLock lock(&mu_);
  CatchUpLocked(now);
  Decision decision;
  context_.counted.Read([&](const LaneCounts& counts) {
    mu_.AssertHeld();  // The analysis of locks does not see into a lambda.
    decision = machine_.AddCounted(counts);
  });
  CAPSTAN_FAILPOINT("round.counted");
  CarryOut(decision, now);
  TraceAdded(index_, machine_.round() + 1, decision);
}

uint64_t Partition::CatchUp(absl::Time now) {
  absl::MutexLock lock(&mu_);
  CatchUpLocked(now);
  return machine_.round();
}

absl::Status Partition::CommitRound(uint64_t round, absl::Time now, ReplicaWait& replicated) {
  absl::MutexLock lock(&mu_);
  CatchUpLocked(now);
  if (machine_.round() >= round) {
    // The backup may have been sent this before; sending it again makes the caller wait for it.
    backup_.TellPassed(machine_.round(), replicated);
    return absl::OkStatus();
  }
  const std::string where = absl::StrCat("it has passed round ", machine_.round());
  if (machine_.held_back()) {
    return absl::UnavailableError(absl::StrCat(where, ", and waits until a copy has been read"));
  }
  if (machine_.moving()) {
    return absl::UnavailableError(absl::StrCat(where, ", and is on its way to another shard"));
  }
  return absl::FailedPreconditionError(absl::StrCat(where, ", told to commit ", round));
}

// The backup is told even if nothing is queued: it may not have applied yet what an earlier order
// has applied here. If it were promoted then, the queue would come back with it.
uint64_t Partition::Flush(absl::Time now, ReplicaWait& replicated) {
  absl::MutexLock lock(&mu_);
  const uint64_t queued = machine_.queued();
  CarryOut(machine_.Flush(), now);
  backup_.TellFlush(replicated);
  return queued;
}

// Nobody waits for the backup: no answer says that the queue was applied, and its gradients are on
// both shards.
void Partition::FlushForCopy(absl::Time now) {
  if (machine_.queued() == 0) return;
  CarryOut(machine_.Flush(), now);
  ReplicaWait nobody;
  backup_.TellFlush(nobody);
}

absl::Status Partition::CloseStream(Timeline timeline, StreamId stream, uint64_t batches,
                                    ReplicaWait& replicated) {
  absl::MutexLock lock(&mu_);
  if (machine_.moving()) {
    return absl::UnavailableError("a partition is on its way to another shard");
  }
  const bool closed = machine_.CloseStream(timeline, stream, batches);
  CAPSTAN_FAILPOINT("stream.closed");
  if (!closed) return absl::FailedPreconditionError("the streams are of another timeline");
  TraceShut(index_, stream, batches);
  backup_.TellClose(stream, batches, replicated);
  return absl::OkStatus();
}

void Partition::ExpireSessions(absl::Time now) {
  absl::MutexLock lock(&mu_);
  // The owner decides which ones expire; or nothing may change any more.
  if (standby_ || machine_.moving()) return;
  backup_.TellExpired(machine_.ExpireSessions(now));
}

PartitionFacts Partition::facts() const {
  absl::MutexLock lock(&mu_);
  if (store_ == nullptr) return {};
  PartitionFacts facts = FactsOf(*store_, machine_);
  facts.bytes += applier_.memory_bytes();
  facts.pulled_rows = pulled_rows_;
  facts.pushed_rows = pushed_rows_;
  return facts;
}

}  // namespace capstan::ps
