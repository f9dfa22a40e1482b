// From the owner of a partition to its backup: what is done at the one is told to the other, which
// does the same (docs/spec, rule 29).
#ifndef CAPSTAN_PS_SHARD_BACKUP_LINK_H_
#define CAPSTAN_PS_SHARD_BACKUP_LINK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/push_message.h"
#include "ps/shard/replica_stream.h"
#include "ps/shard/replica_wait.h"

namespace capstan::ps {

// The link of one partition to its backup, in one pair; or to none, and then whatever is told is
// told to nobody. What is told gets its place in the stream to the backup's process at once, so
// that the backup does things in the order of the calls.
//
// *Thread-compatible*: guarded by its partition's lock, except for Release.
class BackupLink {
 public:
  BackupLink() = default;  // To none.
  BackupLink(PartitionIndex partition, ViewEpoch pair, std::shared_ptr<ReplicaStream> stream)
      : partition_(partition), pair_(pair), stream_(std::move(stream)) {}

  bool exists() const { return stream_ != nullptr; }
  bool IsOf(ViewEpoch pair) const { return exists() && pair_ == pair; }
  // Too much waits for the backup's process: nothing more is to be taken in.
  bool full() const { return exists() && stream_->full(); }

  // ---- what the owner has done ----
  // Each adds to `replicated` what has to be at the backup before anybody hears of it; where there
  // is no such argument, nobody waits.

  // `gradient` was pushed, and came to `result`, of which the stream fills in where it is sent.
  void TellPush(v1::PushOperation result, const PushShare& gradient, ReplicaWait& replicated);
  // All rounds up to this one were passed.
  void TellPassed(uint64_t round, ReplicaWait& replicated);
  // Tells the backup that what the aggregation queues held was applied.
  void TellFlush(ReplicaWait& replicated);
  // Tells it that the stream was closed after so many batches.
  void TellClose(StreamId stream, uint64_t batches, ReplicaWait& replicated);
  // Tells it that these sessions of each part were forgotten. Without any, nothing is told.
  void TellExpired(const std::array<std::vector<StreamId>, kParts>& expired);
  // From now on updates wait until a copy has been read, or do so no more.
  void TellHeld(bool held);

  // ---- what the backup has done ----

  // The number of the last operation in the stream, of whichever partition; 0: there is none.
  uint64_t told() const { return exists() ? stream_->last() : 0; }
  // Whether the backup has carried out what it was told, up to that number. FAILED_PRECONDITION:
  // there is no backup; DATA_LOSS: it is out of step.
  absl::StatusOr<bool> HasAll(uint64_t told) const;

  // The pair has ended: whoever waits for its backup is told this, and what the backup's process
  // has not taken is not sent any more. Calls back, so it must be called without any lock.
  void Release(const absl::Status& status) const;

 private:
  // REQUIRES: exists().
  v1::Operation NewOperation() const;
  void Tell(v1::Operation operation, ReplicaWait& replicated, const PushShare& share = {});

  PartitionIndex partition_{};
  ViewEpoch pair_;
  std::shared_ptr<ReplicaStream> stream_;  // Shared with the shard's streams, and with waits.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_BACKUP_LINK_H_
