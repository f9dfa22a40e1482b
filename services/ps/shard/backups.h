// Replicas on one shard: the partitions of this shard that others back up, and the partitions that
// this shard backs up for others. Follows what views say of both, and repeats owners' operations.
#ifndef CAPSTAN_PS_SHARD_BACKUPS_H_
#define CAPSTAN_PS_SHARD_BACKUPS_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"
#include "ps/partition/replica_stream.h"
#include "ps/shard/own_view.h"
#include "ps/shard/round_follower.h"
#include "ps/shard/shard_contents.h"
#include "ps/shard/shard_parts.h"

namespace capstan::ps {

// *Thread-safe*. In a job without replicas, following views does nothing.
class Backups {
 public:
  // All arguments must outlive this object.
  Backups(ShardParts& parts, RoundFollower& rounds, ShardContents& contents)
      : parts_(parts), rounds_(rounds), contents_(contents) {}

  // ---- views: ViewFollowers calls these in the right order ----

  // Gives the partitions that are served here the backups that the newest view names. Must be
  // called after every view, before Mover::Follow unfreezes partitions that are frozen for a new
  // pair.
  void FollowPairs();
  // The partition has been handed over to its backup, and this process becomes its backup. Returns
  // how long the partition was frozen. Returns nullopt and does nothing if it is not frozen for
  // standby.move.
  std::optional<absl::Duration> StandDown(PartitionIndex index, const ViewedStandby& standby);
  // Follows what the newest view says of the partitions that are backed up here: serves those that
  // this process now owns, and drops those that the view does not name as backed up here. Must be
  // called after Mover::Follow has dropped the partitions that have left.
  void FollowStandbys();
  // Returns DATA_LOSS if the newest view says that this process owns a copy of a partition that is
  // not served here.
  absl::Status CheckOwned() const;
  // Adds the pairs for which this shard has become unusable as the backup.
  void AddBroken(v1::ShardReport& report) const;

  // ---- operations of owners ----

  // Reads a push that an owner has carried out. The errors are those of PushMessage::Read.
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(const grpc::ByteBuffer& push);
  // Repeats an operation that the owner `source` has done on a partition that is backed up here.
  // `share`: the gradient of a push, or the error of reading it. FAILED_PRECONDITION: this process
  // is not the backup of the operation's pair; other errors: the copy is out of step with its
  // owner's, and is unusable from now on.
  absl::Status Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                      const absl::StatusOr<PushShare>& share);

  // ---- what Replay() defers: updates of rows and blocks, which nobody reads here ----

  // The partitions that are backed up here may together defer gradients of this size. Then a
  // partition has some hundred rows to update at a time, whose index entries and rows are
  // prefetched together, and a partition that becomes the owner can be served a moment later.
  static constexpr size_t kMostPutOff = size_t{4} << 20;
  // No update is deferred much longer than this.
  static constexpr absl::Duration kLongestPutOff = absl::Seconds(1);

  // Applies deferred updates, one partition after the other, until no more than kMostPutOff
  // remains. Must be called after Replay().
  void LimitPutOff();
  // Applies all deferred updates if kLongestPutOff has passed since it last did so. Must be called
  // regularly.
  void Tick() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Returns true if what `view` says of backups must be followed: the job has replicas, and the
  // view is of the timeline that is served.
  bool GoBy(const OwnView& view) const;
  std::shared_ptr<ReplicaStream> StreamTo(const ViewedPair& pair);
  void Promote(PartitionIndex index);
  absl::Status ReplayCoordinator(const v1::Operation& operation);
  void ApplyPutOff(PartitionIndex index);

  ShardParts& parts_;
  RoundFollower& rounds_;
  ShardContents& contents_;
  // The partition that next applies its deferred updates, modulo the number of partitions.
  std::atomic<size_t> next_{0};
  absl::Mutex mu_;
  absl::Time applied_all_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_BACKUPS_H_
