// The link from the owner of a partition to its backup: the owner sends the backup the operations
// that it has done, and the backup repeats them (docs/spec, rule 29).
#ifndef CAPSTAN_PS_PARTITION_BACKUP_LINK_H_
#define CAPSTAN_PS_PARTITION_BACKUP_LINK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"
#include "ps/partition/replica_stream.h"
#include "ps/partition/replica_wait.h"
#include "ps/partition/told_push.h"

namespace capstan::ps {

// The link of one partition to its backup, in one pair. Without a backup its functions may be
// called, too, and send nothing. An operation gets its place in the stream to the backup's process
// during the call, so that the backup does the operations in the order of the calls.
//
// *Thread-compatible*: guarded by its partition's lock, except for Release.
class BackupLink {
 public:
  BackupLink() = default;  // Without a backup.
  BackupLink(PartitionIndex partition, ViewEpoch pair, std::shared_ptr<ReplicaStream> stream)
      : partition_(partition), pair_(pair), stream_(std::move(stream)) {}

  bool exists() const { return stream_ != nullptr; }
  bool IsOf(ViewEpoch pair) const { return exists() && pair_ == pair; }
  // Returns true if so many operations wait for the backup's process that the partition should
  // accept no more pushes.
  bool full() const { return exists() && stream_->full(); }

  // ---- what the owner has done ----
  // Each function with `replicated` adds to it the operation that the backup has to carry out
  // before the caller may answer. For the other functions nobody waits.

  // Sends that `gradient` was pushed, with this result.
  void TellPush(const PushResult& result, const PushShare& gradient, ReplicaWait& replicated);
  // Sends that the partition has passed all rounds up to `round`.
  void TellPassed(uint64_t round, ReplicaWait& replicated);
  // Sends that the gradients in the aggregation queues were applied.
  void TellFlush(ReplicaWait& replicated);
  // Sends that `stream` was closed after `batches` batches.
  void TellClose(StreamId stream, uint64_t batches, ReplicaWait& replicated);
  // Sends which sessions of each part were forgotten. Does nothing if there are none.
  void TellExpired(const std::array<std::vector<StreamId>, kParts>& expired);
  // Sends that from now on updates are held back until a copy has been read (`held`), or are not
  // held back any more.
  void TellHeld(bool held);

  // ---- what the backup has done ----

  // The number of the last operation in the stream, for any partition; 0 if there is no operation,
  // or no backup.
  uint64_t told() const { return exists() ? stream_->last() : 0; }
  // Returns true if the backup has carried out its operations up to the number `told`.
  // FAILED_PRECONDITION: there is no backup; DATA_LOSS: the backup is out of step.
  absl::StatusOr<bool> HasAll(uint64_t told) const;

  // The pair has ended: answers those who wait for its backup with `status`, and drops the pair's
  // operations that the backup's process has not received. Runs callbacks, so it must be called
  // without any lock held.
  void Release(const absl::Status& status) const;

 private:
  // REQUIRES: exists().
  v1::Operation NewOperation() const;
  void Tell(v1::Operation operation, ReplicaWait& replicated);
  // Adds the operation with this number to `replicated`.
  void WaitFor(uint64_t number, ReplicaWait& replicated);

  PartitionIndex partition_{};
  ViewEpoch pair_;
  std::shared_ptr<ReplicaStream> stream_;  // Shared with the shard's streams, and with waits.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_BACKUP_LINK_H_
