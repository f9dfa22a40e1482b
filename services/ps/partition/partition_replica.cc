// The member functions of Partition for its backup on another shard, and for being a backup itself.
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/partition.h"
#include "ps/partition/told_push.h"
#include "ps/partition/traced.h"

namespace capstan::ps {

void Partition::SetBackup(ViewEpoch pair, std::shared_ptr<ReplicaStream> stream) {
  BackupLink ended;
  {
    absl::MutexLock lock(&mu_);
    if (backup_.IsOf(pair)) return;
    ended = std::exchange(backup_, BackupLink(index_, pair, std::move(stream)));
    trace::Write("paired", {{"partition", Raw(index_)}, {"term", pair.term}, {"n", pair.n}});
  }
  // What the previous backup had not carried out yet came to the present backup with its copy.
  ended.Release(absl::OkStatus());
}

void Partition::DropBackup() {
  BackupLink ended;
  {
    absl::MutexLock lock(&mu_);
    ended = std::exchange(backup_, BackupLink());
    if (ended.exists()) trace::Write("alone", {{"partition", Raw(index_)}});
  }
  ended.Release(absl::OkStatus());
}

uint64_t Partition::Told() const {
  absl::MutexLock lock(&mu_);
  return backup_.told();
}

absl::StatusOr<bool> Partition::BackupHasAll(uint64_t told) const {
  absl::MutexLock lock(&mu_);
  return backup_.HasAll(told);
}

void Partition::TellPush(const PushShare& gradient, const v1::PartitionOutcome& outcome,
                         ReplicaWait& replicated) {
  // A push changes nothing if it is of another timeline, or if the partition accepts nothing.
  const bool current = Timeline{gradient.push->head().header().timeline()} == machine_.timeline();
  if (!current || machine_.moving() || machine_.closed()) return;
  const PushResult result = {.progress_examples = applier_.progress(),
                             .dense = outcome.dense(),
                             .sparse = outcome.sparse(),
                             .dense_version = machine_.version(Part::kDense),
                             .sparse_version = machine_.version(Part::kSparse)};
  backup_.TellPush(result, gradient, replicated);
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
  applier_.ApplyPutOff(now);
  CountPutOff();
  standby_.reset();
  applier_.SetObserved(true);
  // A machine that is held back waits for a copy that was read at the former owner, and is over.
  if (machine_.held_back()) CarryOut(machine_.GoOn(), now);
  CatchUpLocked(now);
  stands_by_.store(false, std::memory_order_release);
  CAPSTAN_FAILPOINT("replica.promoted");
}

std::optional<absl::Duration> Partition::StandDown(ViewEpoch move, ViewEpoch pair, absl::Time now) {
  BackupLink ended;
  absl::Duration frozen;
  {
    absl::MutexLock lock(&mu_);
    if (frozen_for_ != move) return std::nullopt;
    frozen = now - frozen_since_;
    frozen_for_.reset();
    machine_.EndMove();
    applier_.SetObserved(false);
    copy_.Reset(store_.get(), /*base=*/"");  // The next copy that is read here is complete.
    origin_ = move;
    standby_ = pair;
    ended = std::exchange(backup_, BackupLink());
    stands_by_.store(true, std::memory_order_release);
    trace::Write("stands by", {{"partition", Raw(index_)}, {"term", pair.term}, {"n", pair.n}});
  }
  ended.Release(absl::UnavailableError("the partition is not served here any more"));
  CAPSTAN_FAILPOINT("replica.stood_down");
  return frozen;
}

absl::Status Partition::Replay(const v1::Operation& operation, const PushShare& share,
                               absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (standby_ != ViewEpochFromProto(operation.pair())) {
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
      if (machine_.round() >= operation.passed()) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat("the backup of partition ", operation.partition(),
                                              " has passed round ", machine_.round(),
                                              ", its owner ", operation.passed()));
    case v1::Operation::kHold:
      if (operation.hold().held()) {
        machine_.HoldBack();
        return absl::OkStatus();
      }
      CarryOut(machine_.GoOn(), now);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("an operation that is not known here");
  }
}

absl::Status Partition::ReplayPush(const v1::PushOperation& told, const PushShare& gradient,
                                   absl::Time now) {
  applier_.RaiseProgress(told.progress_examples());
  const v1::PartitionOutcome outcome = PushParts(gradient, now);
  CountPutOff();
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

void Partition::ApplyPutOff(absl::Time now) {
  absl::MutexLock lock(&mu_);
  applier_.ApplyPutOff(now);
  CountPutOff();
}

void Partition::CountPutOff() {
  const size_t before = put_off_bytes_.load(std::memory_order_relaxed);
  const size_t bytes = applier_.put_off_bytes();
  if (bytes == before) return;
  put_off_bytes_.store(bytes, std::memory_order_relaxed);
  context_.put_off.fetch_add(bytes - before,
                             std::memory_order_relaxed);  // May be negative: it wraps.
}

}  // namespace capstan::ps
