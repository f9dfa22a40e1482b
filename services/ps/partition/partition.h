// One partition: its machine decides, its applier carries the decision out on its store, and its
// backup is sent the operation; all under the partition's mutex, which a request locks once.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_H_
#define CAPSTAN_PS_PARTITION_PARTITION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/store/look_ahead.h"
#include "capstan/store/partition_store.h"
#include "capstan/store/slab_arena.h"
#include "capstan/wire/payload_writer.h"
#include "ps/machines/partition_machine.h"
#include "ps/partition/backup_link.h"
#include "ps/partition/catalog.h"
#include "ps/partition/counted_lanes.h"
#include "ps/partition/kept_bytes.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/partition_copy.h"
#include "ps/partition/partition_facts.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/push_message.h"
#include "ps/partition/replica_wait.h"
#include "ps/partition/rounds.h"
#include "ps/partition/shard_metrics.h"
#include "ps/partition/store_copy.h"
#include "ps/partition/update_applier.h"

namespace capstan::ps {

// What the partitions of a shard share. All of it must outlive them.
struct PartitionContext {
  const Catalog& catalog;
  const Rounds& rounds;
  const CountedLanes& counted;
  ShardMetrics& metrics;
  SlabArena& slabs;
  KeptBytes& kept;
  std::atomic<size_t>& put_off;  // Bytes of gradients that the backups on this shard have deferred.
};

// Empty until a content is loaded. A request must name the content's timeline. *Thread-safe*.
class Partition {
 public:
  Partition(PartitionIndex index, const PartitionContext& context);

  // Replaces the present content, and drops that with the gradients that wait in it.
  void Load(PartitionContent content) ABSL_LOCKS_EXCLUDED(mu_);
  void Unload() ABSL_LOCKS_EXCLUDED(mu_);
  bool loaded() const { return loaded_.load(std::memory_order_acquire); }
  // Returns true if the partition is loaded and served, which a backup is not.
  bool serves() const { return loaded() && !stands_by_.load(std::memory_order_acquire); }

  // Writes the values that the query wants from this partition, which is the query's i-th. ABORTED:
  // the pull's round is over; RESOURCE_EXHAUSTED: the round is not open here yet, or (ssp) the
  // partition is frozen for a move; FAILED_PRECONDITION: the partition is not served here in the
  // query's timeline.
  absl::Status Pull(const PullQuery& query, size_t i, absl::Time now, wire::PayloadWriter& writer)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Carries out the push's share for this partition, which is the push's i-th. `progress_examples`:
  // the progress of the whole job, with a seal of the chief that was checked; 0: not known. Adds to
  // `replicated` what the backup has to carry out before the outcome is reported to anyone; so do
  // the functions below. REQUIRES: the push has the names that its parts need, which
  // PushMessage::Read has checked.
  v1::PartitionOutcome Push(const std::shared_ptr<const PushMessage>& push, size_t i,
                            uint64_t progress_examples, absl::Time now, ReplicaWait& replicated)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Adds those gradients of the open round that the coordinator has counted, as far as the shard
  // has heard, so that they need not be kept until the round closes.
  void AddCounted(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // Passes the rounds whose commits the shard has received. Returns how many were passed.
  uint64_t CatchUp(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // As CatchUp(), but `round` must be passed in the end, here and at the backup. UNAVAILABLE:
  // updates are held back until a copy has been read, or the partition is moving to another shard;
  // FAILED_PRECONDITION: the commit of `round`, or of a round before it, is not known.
  absl::Status CommitRound(uint64_t round, absl::Time now, ReplicaWait& replicated)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Applies the gradients in the aggregation queues. Returns their number.
  uint64_t Flush(absl::Time now, ReplicaWait& replicated) ABSL_LOCKS_EXCLUDED(mu_);
  // Closes a stream of `batches` batches. FAILED_PRECONDITION: `timeline` is not the present one;
  // UNAVAILABLE: the partition is about to move to another shard, where the stream has to be
  // closed.
  absl::Status CloseStream(Timeline timeline, StreamId stream, uint64_t batches,
                           ReplicaWait& replicated) ABSL_LOCKS_EXCLUDED(mu_);
  void ExpireSessions(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // ---- a copy as of a moment, read in pieces while updates go on ----

  // Begins a copy as of now: applies the queued gradients, then marks the store. Returns nullopt if
  // the partition is of another timeline, or not served here: the rows of a backup may lag behind
  // what its machine has decided. REQUIRES: the previous copy has been settled.
  std::optional<PartitionCopy> BeginCopy(const CopyOrder& order, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Calls read(marked store) under the lock. Returns false if another content has been loaded.
  bool ReadCopy(absl::FunctionRef<void(PartitionStore&)> read) ABSL_LOCKS_EXCLUDED(mu_);
  // All of the copy has been read: nothing is kept for it and no update is held back any more.
  void EndCopy(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // The copy is stored as the checkpoint, or the file of a move, that is called `id`; empty: the
  // copy was abandoned.
  void SettleCopy(const std::string& id, absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // ---- on its way to another shard (docs/spec, rules 14 and 23 to 25) ----

  // Passes the rounds whose commits the shard has received, applies the queued gradients, and then
  // freezes the partition: nothing changes until a view ends the move. Does nothing if it is frozen
  // for `move` already. UNAVAILABLE: a gradient of the open round is staged or added, or updates
  // are held back until a copy has been read; FAILED_PRECONDITION: the partition is not here in
  // this timeline.
  absl::Status FreezeForMove(Timeline timeline, ViewEpoch move, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The newest view says that this shard owns the copy named `copy`. If that is the move for which
  // the partition is frozen, origin() becomes `copy`: this shard has missed the view by which the
  // move gave the partition to another shard, and a later view has given it back. Otherwise does
  // nothing.
  void TakeName(ViewEpoch copy) ABSL_LOCKS_EXCLUDED(mu_);
  // Ends the freeze, unless the partition is frozen for the move `named`. Returns how long it was
  // frozen; nullopt if it stays frozen or was not.
  std::optional<absl::Duration> ThawUnless(std::optional<ViewEpoch> named, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Returns how long the partition has been frozen for a move; nullopt if it is not frozen.
  std::optional<absl::Duration> FrozenFor(absl::Time now) const ABSL_LOCKS_EXCLUDED(mu_);
  // The move by which the content came; 0.0 if it was loaded.
  ViewEpoch origin() const ABSL_LOCKS_EXCLUDED(mu_);

  // ---- its backup on another shard; this one as a backup (docs/spec, rules 18 and 29 to 32) ----

  // From now on the operations done here are sent to the backup of `pair` by `stream`, in the order
  // in which they are done. Does nothing if `pair` is the present one. Ends the waits for an
  // earlier backup.
  void SetBackup(ViewEpoch pair, std::shared_ptr<ReplicaStream> stream) ABSL_LOCKS_EXCLUDED(mu_);
  // The partition has no backup any more. Ends the waits for the backup.
  void DropBackup() ABSL_LOCKS_EXCLUDED(mu_);
  // The number of the last operation in the stream to the backup; 0 if there is none, or no backup.
  uint64_t Told() const ABSL_LOCKS_EXCLUDED(mu_);
  // Returns true if the backup has carried out its operations up to the number `told`.
  // FAILED_PRECONDITION: there is no backup; DATA_LOSS: the backup is out of step.
  absl::StatusOr<bool> BackupHasAll(uint64_t told) const ABSL_LOCKS_EXCLUDED(mu_);

  // As Load(), but the partition is not served: it is the backup of `pair`, and repeats the
  // operations that are passed to Replay().
  void Adopt(PartitionContent content, ViewEpoch pair) ABSL_LOCKS_EXCLUDED(mu_);
  // The pair whose backup this partition is; nullopt: it is not a backup; kSpoiled: it was a backup
  // that became unusable.
  static constexpr ViewEpoch kSpoiled = {};
  std::optional<ViewEpoch> standby() const ABSL_LOCKS_EXCLUDED(mu_);
  // Marks this backup as one that must never be promoted. Returns false and changes nothing if it
  // is not the backup of `pair`.
  bool SpoilStandby(ViewEpoch pair) ABSL_LOCKS_EXCLUDED(mu_);
  // The owner hands over to its backup by `move`, for which this partition is frozen. From now on
  // this partition is the backup of the new `pair`, with its present content, and origin() is
  // `move`. Returns how long it was frozen. Returns nullopt and does nothing if it is not frozen
  // for `move`. REQUIRES: its backup has carried out all operations that it was sent.
  std::optional<absl::Duration> StandDown(ViewEpoch move, ViewEpoch pair, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // This backup becomes the owner: its content is served from now on.
  void Promote(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // Repeats an operation that the owner has done. `share` is the gradient if the operation is a
  // push. Its outcome is decided at once, but its rows and blocks may be updated later, as nobody
  // reads them here before Promote(). FAILED_PRECONDITION: this is not the backup of the
  // operation's pair; DATA_LOSS: the operation had another result here than at the owner;
  // INVALID_ARGUMENT: an unknown operation. After the last two this copy must never be promoted.
  absl::Status Replay(const v1::Operation& operation, const PushShare& share, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Applies the updates that Replay() has deferred.
  void ApplyPutOff(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  bool puts_off() const { return put_off_bytes_.load(std::memory_order_relaxed) > 0; }

  PartitionFacts facts() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Take(PartitionContent content, std::optional<ViewEpoch> standby) ABSL_LOCKS_EXCLUDED(mu_);
  // Applies what is queued before a copy is made, here and at the backup.
  void FlushForCopy(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends the push and its result to the backup, if it can have changed anything.
  void TellPush(const PushShare& gradient, const v1::PartitionOutcome& outcome,
                ReplicaWait& replicated) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReplayPush(const v1::PushOperation& told, const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::PartitionOutcome PushParts(const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Must be called when the applier may have deferred an update, or applied or dropped deferred
  // ones.
  void CountPutOff() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void EndCopyLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // While a copy is being read: holds updates back if the shard keeps too much for its copies.
  void HoldBackIfFull() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CatchUpLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Passes the rounds whose commits the shard has received, up to `last`.
  void PassRounds(uint64_t last, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::Outcome PushPart(Part part, const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns false if there was an update and all of its rows were too stale.
  bool CarryOut(const Decision& decision, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteRows(const PullQuery& query, size_t table, wire::PayloadWriter& writer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteBlock(const PullQuery& query, size_t block, wire::PayloadWriter& writer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PartitionIndex index_;
  const PartitionContext context_;

  std::atomic<bool> loaded_{false};
  std::atomic<bool> stands_by_{false};
  std::atomic<size_t> put_off_bytes_{
      0};  // This partition's part of context_.put_off. Set under mu_.
  mutable absl::Mutex mu_;
  // Null if the partition is empty. The machine is then of timeline 0, so that it refuses every
  // request.
  std::unique_ptr<PartitionStore> store_ ABSL_GUARDED_BY(mu_) ABSL_PT_GUARDED_BY(mu_);
  PartitionMachine machine_ ABSL_GUARDED_BY(mu_);
  UpdateApplier applier_ ABSL_GUARDED_BY(mu_);
  StoreCopy copy_ ABSL_GUARDED_BY(mu_);
  bool closed_by_copy_ ABSL_GUARDED_BY(mu_) = false;  // The present copy has closed the machine.
  ViewEpoch origin_ ABSL_GUARDED_BY(mu_);
  std::optional<ViewEpoch> frozen_for_ ABSL_GUARDED_BY(mu_);  // Set while the machine is moving().
  absl::Time frozen_since_ ABSL_GUARDED_BY(mu_);
  BackupLink backup_ ABSL_GUARDED_BY(mu_);
  std::optional<ViewEpoch> standby_ ABSL_GUARDED_BY(mu_);  // The pair whose backup this is.
  uint64_t pulled_rows_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t pushed_rows_ ABSL_GUARDED_BY(mu_) = 0;
  // Scratch.
  std::vector<float> floats_ ABSL_GUARDED_BY(mu_);
  std::vector<WantedRows> wanted_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_H_
