#include "ps/partition/backup_link.h"

#include <algorithm>

#include "capstan/base/failpoint.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::ps {

void BackupLink::TellPush(const PushResult& result, const PushShare& gradient,
                          ReplicaWait& replicated) {
  if (!exists()) return;
  WaitFor(stream_->Append(ToldPush{partition_, pair_, result, gradient}), replicated);
}

void BackupLink::TellPassed(uint64_t round, ReplicaWait& replicated) {
  if (!exists()) return;
  v1::Operation operation = NewOperation();
  operation.set_passed(round);
  Tell(std::move(operation), replicated);
}

void BackupLink::TellFlush(ReplicaWait& replicated) {
  if (!exists()) return;
  v1::Operation operation = NewOperation();
  operation.mutable_flush();
  Tell(std::move(operation), replicated);
}

void BackupLink::TellClose(StreamId stream, uint64_t batches, ReplicaWait& replicated) {
  if (!exists()) return;
  v1::Operation operation = NewOperation();
  operation.mutable_close()->set_stream(stream.value);
  operation.mutable_close()->set_batches(batches);
  Tell(std::move(operation), replicated);
}

void BackupLink::TellExpired(const std::array<std::vector<StreamId>, kParts>& expired) {
  if (!exists() || std::all_of(expired.begin(), expired.end(),
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

void BackupLink::TellHeld(bool held) {
  if (!exists()) return;
  v1::Operation operation = NewOperation();
  operation.mutable_hold()->set_held(held);
  ReplicaWait nobody;
  Tell(std::move(operation), nobody);
}

absl::StatusOr<bool> BackupLink::HasAll(uint64_t told) const {
  if (!exists()) return absl::FailedPreconditionError("the partition has no backup any more");
  return stream_->HasAll(partition_, told);
}

void BackupLink::Release(const absl::Status& status) const {
  if (exists()) stream_->Release(partition_, pair_, status);
}

v1::Operation BackupLink::NewOperation() const {
  v1::Operation operation;
  operation.set_partition(static_cast<uint32_t>(Raw(partition_)));
  ToProto(pair_, *operation.mutable_pair());
  return operation;
}

void BackupLink::Tell(v1::Operation operation, ReplicaWait& replicated) {
  WaitFor(stream_->Append(std::move(operation)), replicated);
}

void BackupLink::WaitFor(uint64_t number, ReplicaWait& replicated) {
  replicated.Add(stream_, partition_, number);
  CAPSTAN_FAILPOINT("replica.told");
}

}  // namespace capstan::ps
