// Replicas: the partitions of a shard that others back up, and those that it backs up for others.
// Does what views say of them, and carries out what owners tell.
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

// *Thread-safe*. Without replicas, following views does nothing.
class Backups {
 public:
  // All must outlive this.
  Backups(ShardParts& parts, RoundFollower& rounds, ShardContents& contents)
      : parts_(parts), rounds_(rounds), contents_(contents) {}

  // ---- views: ViewFollowers says in which order ----

  // Gives the partitions that are served here the backups that the newest view names. Call after
  // every view, before Mover::Follow thaws partitions that are frozen for a new pair.
  void FollowPairs();
  // The partition has been handed over to its backup, and this process becomes its backup. Returns
  // how long the partition was frozen; nothing, and nothing is done, if it is not frozen for
  // standby.move.
  std::optional<absl::Duration> StandDown(PartitionIndex index, const ViewedStandby& standby);
  // Does what the newest view says of the partitions that are backed up here: serves those of which
  // this process has become the owner, and drops those that the view does not name as backed up
  // here. Call after Mover::Follow has dropped the partitions that have left.
  void FollowStandbys();
  // DATA_LOSS: the newest view says that this process owns a copy of a partition, and the copy is
  // not served here.
  absl::Status CheckOwned() const;
  // Adds the pairs of which this shard is no use as the backup.
  void AddBroken(v1::ShardReport& report) const;

  // ---- what owners tell ----

  // Reads a push that an owner has carried out. Errors are those of PushMessage::Read.
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(const grpc::ByteBuffer& push);
  // Carries out an operation that the owner `source` has done to a partition that is backed up
  // here. `share`: the gradient of a push, or why it cannot be read. FAILED_PRECONDITION: this
  // process is not the backup of the operation's pair; other errors: the copy is out of step with
  // its owner's, and is of no use from now on.
  absl::Status Replay(Incarnation source, uint64_t timeline, const v1::Operation& operation,
                      const absl::StatusOr<PushShare>& share);

  // ---- what Replay() puts off: updates of rows and blocks, which nobody reads here ----

  // The partitions that are backed up here together put off gradients of so many bytes. So a
  // partition has some hundred rows to update at a time, its index and its rows are fetched into
  // the caches for all of them together, and one that becomes the owner is served a moment later.
  static constexpr size_t kMostPutOff = size_t{4} << 20;
  // No update is put off for much longer.
  static constexpr absl::Duration kLongestPutOff = absl::Seconds(1);

  // Applies what was put off, one partition after the other, until no more than kMostPutOff is
  // left. Call it after Replay().
  void LimitPutOff();
  // Applies all that was put off if kLongestPutOff has passed since it last did so. Call it now and
  // then.
  void Tick() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Returns true if what `view` says of backups is to be followed: the job has backups, and the
  // view is of the timeline that is served.
  bool GoBy(const OwnView& view) const;
  std::shared_ptr<ReplicaStream> StreamTo(const ViewedPair& pair);
  void Promote(PartitionIndex index);
  absl::Status ReplayCoordinator(const v1::Operation& operation);
  void ApplyPutOff(PartitionIndex index);

  ShardParts& parts_;
  RoundFollower& rounds_;
  ShardContents& contents_;
  std::atomic<size_t> next_{
      0};  // Whose turn it is to apply what it has put off, modulo their count.
  absl::Mutex mu_;
  absl::Time applied_all_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_BACKUPS_H_
