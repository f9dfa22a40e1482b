// Partition: what its owner does goes to its backup, which does the same.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "ps/shard/partition.h"
#include "ps/shard/traced.h"

namespace capstan::ps {

void Partition::SetBackup(ViewEpoch pair, std::shared_ptr<ReplicaStream> stream) {
  std::optional<Backup> ended;
  {
    absl::MutexLock lock(&mu_);
    if (backup_ && backup_->pair == pair) return;
    ended = std::exchange(backup_, Backup{pair, std::move(stream)});
    trace::Write("paired", {{"partition", Raw(index_)}, {"term", pair.term}, {"n", pair.n}});
  }
  // What the one before had not taken yet came to the present one with its copy.
  if (ended) ended->stream->Release(index_, absl::OkStatus());
}

void Partition::DropBackup() {
  std::optional<Backup> ended;
  {
    absl::MutexLock lock(&mu_);
    ended = std::exchange(backup_, std::nullopt);
    if (ended) trace::Write("alone", {{"partition", Raw(index_)}});
  }
  if (ended) ended->stream->Release(index_, absl::OkStatus());
}

uint64_t Partition::Told() const {
  absl::MutexLock lock(&mu_);
  return backup_ ? backup_->stream->last() : 0;
}

absl::StatusOr<bool> Partition::BackupHasAll(uint64_t told) const {
  absl::MutexLock lock(&mu_);
  if (!backup_) return absl::FailedPreconditionError("the partition has no backup any more");
  return backup_->stream->HasAll(index_, told);
}

v1::Operation Partition::NewOperation() const {
  v1::Operation operation;
  operation.set_partition(static_cast<uint32_t>(Raw(index_)));
  operation.mutable_pair()->set_term(backup_->pair.term);
  operation.mutable_pair()->set_n(backup_->pair.n);
  return operation;
}

void Partition::Tell(v1::Operation operation, ReplicaWait& replicated, const PushShare& share) {
  const uint64_t number = backup_->stream->Append(std::move(operation), share);
  replicated.Add(backup_->stream, index_, number);
  CAPSTAN_FAILPOINT("replica.told");
}

void Partition::TellHeld(bool held) {
  if (!backup_) return;
  v1::Operation operation = NewOperation();
  operation.mutable_hold()->set_held(held);
  ReplicaWait nobody;
  Tell(std::move(operation), nobody);
}

void Partition::TellPassed(ReplicaWait& replicated) {
  v1::Operation operation = NewOperation();
  operation.set_passed(machine_.round());
  Tell(std::move(operation), replicated);
}

void Partition::TellExpired(const std::array<std::vector<StreamId>, kParts>& expired) {
  if (!backup_ || std::all_of(expired.begin(), expired.end(),
                              [](const auto& sessions) { return sessions.empty(); })) {
    return;
  }
  v1::Operation operation = NewOperation();
  v1::ExpiryOperation& told = *operation.mutable_expiry();
  for (const StreamId session : expired[static_cast<size_t>(Part::kDense)]) {
    told.add_dense_sessions(session.value);
  }
  for (const StreamId session : expired[static_cast<size_t>(Part::kSparse)]) {
    told.add_sparse_sessions(session.value);
  }
  ReplicaWait nobody;
  Tell(std::move(operation), nobody);
}

void Partition::TellPush(const PushShare& gradient, const v1::PartitionOutcome& outcome,
                         ReplicaWait& replicated) {
  // Of a partition that takes nothing in, and of one of another timeline, nothing has changed.
  const bool current = Timeline{gradient.push->head().header().timeline()} == machine_.timeline();
  if (!current || machine_.moving() || machine_.closed()) return;
  v1::Operation operation = NewOperation();
  v1::PushOperation& told = *operation.mutable_push();
  told.set_progress_examples(progress_);
  told.set_dense(outcome.dense());
  told.set_sparse(outcome.sparse());
  told.set_dense_version(machine_.version(Part::kDense));
  told.set_sparse_version(machine_.version(Part::kSparse));
  Tell(std::move(operation), replicated, gradient);
}

void Partition::Adopt(PartitionContent content, ViewEpoch pair) { Take(std::move(content), pair); }

std::optional<ViewEpoch> Partition::standby() const {
  absl::MutexLock lock(&mu_);
  return standby_;
}

bool Partition::SpoilStandby(ViewEpoch pair) {
  absl::MutexLock lock(&mu_);
  if (standby_ != pair) return false;
  standby_ = kSpoiled;
  return true;
}

void Partition::Promote(absl::Time now) {
  absl::MutexLock lock(&mu_);
  standby_.reset();
  // The copy that the owner was read for has come to nothing with it.
  if (machine_.frozen()) CarryOut(machine_.Thaw(), now);
  CatchUpLocked(now);
  stands_by_.store(false, std::memory_order_release);
  CAPSTAN_FAILPOINT("replica.promoted");
}

absl::Status Partition::Replay(const v1::Operation& operation, const PushShare& share,
                               absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (standby_ != ViewEpoch{operation.pair().term(), operation.pair().n()}) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is not the backup of partition ", operation.partition(), " in pair ",
                     operation.pair().term(), ".", operation.pair().n()));
  }
  switch (operation.what_case()) {
    case v1::Operation::kPush:
      return ReplayPush(operation.push(), share, now);
    case v1::Operation::kClose:
      machine_.CloseStream(machine_.timeline(), {operation.close().stream()},
                           operation.close().batches());
      return absl::OkStatus();
    case v1::Operation::kFlush:
      CarryOut(machine_.Flush(), now);
      return absl::OkStatus();
    case v1::Operation::kExpiry:
      for (const uint64_t session : operation.expiry().dense_sessions()) {
        machine_.ForgetSession(Part::kDense, {session});
      }
      for (const uint64_t session : operation.expiry().sparse_sessions()) {
        machine_.ForgetSession(Part::kSparse, {session});
      }
      return absl::OkStatus();
    case v1::Operation::kPassed:
      PassRounds(operation.passed(), now);
      return absl::OkStatus();
    case v1::Operation::kHold:
      if (operation.hold().held()) {
        machine_.Freeze();
        return absl::OkStatus();
      }
      CarryOut(machine_.Thaw(), now);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("an operation that is not known here");
  }
}

absl::Status Partition::ReplayPush(const v1::PushOperation& told, const PushShare& gradient,
                                   absl::Time now) {
  progress_ = std::max(progress_, told.progress_examples());
  const v1::PartitionOutcome outcome = PushParts(gradient, now);
  TraceReplayed(gradient, *standby_);
  CAPSTAN_FAILPOINT("replica.replayed");
  const bool same = outcome.dense() == told.dense() && outcome.sparse() == told.sparse() &&
                    machine_.version(Part::kDense) == told.dense_version() &&
                    machine_.version(Part::kSparse) == told.sparse_version();
  if (same) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "the backup of partition ", outcome.partition(), " is out of step: a push ended here as ",
      v1::Outcome_Name(outcome.dense()), ", ", v1::Outcome_Name(outcome.sparse()), " in versions ",
      machine_.version(Part::kDense), ", ", machine_.version(Part::kSparse), ", at its owner as ",
      v1::Outcome_Name(told.dense()), ", ", v1::Outcome_Name(told.sparse()), " in versions ",
      told.dense_version(), ", ", told.sparse_version()));
}

}  // namespace capstan::ps
