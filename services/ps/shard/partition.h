// One partition at work: its machine decides, its applier carries that out on its store, and its
// backup is told of it; all under its mutex, which is taken once a request.
#ifndef CAPSTAN_PS_SHARD_PARTITION_H_
#define CAPSTAN_PS_SHARD_PARTITION_H_

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
#include "ps/shard/backup_link.h"
#include "ps/shard/catalog.h"
#include "ps/shard/counted_lanes.h"
#include "ps/shard/kept_bytes.h"
#include "ps/shard/partition_content.h"
#include "ps/shard/partition_copy.h"
#include "ps/shard/partition_facts.h"
#include "ps/shard/pull_query.h"
#include "ps/shard/push_message.h"
#include "ps/shard/replica_wait.h"
#include "ps/shard/rounds.h"
#include "ps/shard/shard_metrics.h"
#include "ps/shard/store_copy.h"
#include "ps/shard/update_applier.h"

namespace capstan::ps {

// What every partition of a shard shares; must outlive them.
struct PartitionContext {
  const Catalog& catalog;
  const Rounds& rounds;
  const CountedLanes& counted;
  ShardMetrics& metrics;
  SlabArena& slabs;
  KeptBytes& kept;
};

// Empty until a content is loaded; a request must be of the content's timeline. *Thread-safe*.
class Partition {
 public:
  Partition(PartitionIndex index, const PartitionContext& context);

  // Takes the content in the place of the present one, which is dropped with the gradients that
  // wait in it.
  void Load(PartitionContent content) ABSL_LOCKS_EXCLUDED(mu_);
  void Unload() ABSL_LOCKS_EXCLUDED(mu_);
  bool loaded() const { return loaded_.load(std::memory_order_acquire); }
  // Loaded, and not as a backup.
  bool serves() const { return loaded() && !stands_by_.load(std::memory_order_acquire); }

  // Writes the values of the query's i-th partition, which is this one. ABORTED: the pull's round
  // is over; RESOURCE_EXHAUSTED: not yet; FAILED_PRECONDITION: it is not here, in this timeline.
  absl::Status Pull(const PullQuery& query, size_t i, absl::Time now, wire::PayloadWriter& writer)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Carries out the push's i-th partition, which is this one. REQUIRES: the push has the names that
  // its parts need, which reading it has checked.
  // `progress_examples`: how far the whole job is, by a number that is to be believed; 0: not
  // known.
  // What its backup has to carry out before anybody hears of the outcome is added to `replicated`;
  // so it is below.
  v1::PartitionOutcome Push(const std::shared_ptr<const PushMessage>& push, size_t i,
                            uint64_t progress_examples, absl::Time now, ReplicaWait& replicated)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Adds the gradients that are counted in the open round, as the shard has been told, so that they
  // need not be held until it closes.
  void AddCounted(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // Passes the rounds that the shard has been told. Gives the rounds passed.
  uint64_t CatchUp(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // The same, and this one shall be among them. UNAVAILABLE: updates wait until a copy has been
  // read; FAILED_PRECONDITION: a round before it is not known. A backup has to have passed it, too.
  absl::Status CommitRound(uint64_t round, absl::Time now, ReplicaWait& replicated)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Applies what aggregation queues hold. Gives their number.
  uint64_t Flush(absl::Time now, ReplicaWait& replicated) ABSL_LOCKS_EXCLUDED(mu_);
  // FAILED_PRECONDITION: on another timeline; UNAVAILABLE: it is about to leave for another shard,
  // which is to be told.
  absl::Status CloseStream(Timeline timeline, StreamId stream, uint64_t batches,
                           ReplicaWait& replicated) ABSL_LOCKS_EXCLUDED(mu_);
  void ExpireSessions(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // ---- a copy as of a moment, read in pieces while updates go on ----

  // The moment: applies what is queued, then marks the store. Nothing if the partition is of
  // another timeline. REQUIRES: the copy before it has been settled.
  std::optional<PartitionCopy> BeginCopy(const CopyOrder& order, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Calls read(marked store) under the lock. False: another content has been loaded.
  bool ReadCopy(absl::FunctionRef<void(PartitionStore&)> read) ABSL_LOCKS_EXCLUDED(mu_);
  // All has been read: nothing is kept or held back any more.
  void EndCopy(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // The checkpoint `id` holds the copy, or (empty) the copy has come to nothing.
  void SettleCopy(const std::string& id, absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // ---- on its way to another shard (docs/spec, rules 14 and 23 to 25) ----

  // Applies what is queued, passes the rounds told, and from then on changes nothing until a view
  // ends the move. Again, nothing. UNAVAILABLE: something of the open round is staged, or a copy
  // holds updates back; FAILED_PRECONDITION: it is not here, in this timeline.
  absl::Status FreezeForMove(Timeline timeline, ViewEpoch move, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // By the view this is the copy of that name, which is still its owner's here: the view in which
  // the move that it is frozen for gave it to another one was not heard here, and a later one gives
  // it back. Any other name is ignored.
  void TakeName(ViewEpoch copy) ABSL_LOCKS_EXCLUDED(mu_);
  // Thaws it, unless it is frozen for `named`. Gives how long it was frozen.
  std::optional<absl::Duration> ThawUnless(std::optional<ViewEpoch> named, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // How long it has been frozen for a move; nothing if it is not.
  std::optional<absl::Duration> FrozenFor(absl::Time now) const ABSL_LOCKS_EXCLUDED(mu_);
  // The move by which the content came; 0.0: it was loaded.
  ViewEpoch origin() const ABSL_LOCKS_EXCLUDED(mu_);

  // ---- a backup of it on another shard, or on this one (docs/spec, rules 18 and 29 to 32) ----

  // From now on what is done here goes to the backup, by `stream`, in the order in which it is
  // done. Nothing if it does already, in this pair.
  void SetBackup(ViewEpoch pair, std::shared_ptr<ReplicaStream> stream) ABSL_LOCKS_EXCLUDED(mu_);
  // It has none any more: what waits for it is done.
  void DropBackup() ABSL_LOCKS_EXCLUDED(mu_);
  // All that the backup has been told so far, in the order of its stream; 0: there is none.
  uint64_t Told() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the backup has carried that out. FAILED_PRECONDITION: there is none; DATA_LOSS: it is
  // out of step.
  absl::StatusOr<bool> BackupHasAll(uint64_t told) const ABSL_LOCKS_EXCLUDED(mu_);

  // As Load, but it serves nobody: it is the backup of this pair, and carries out operations.
  void Adopt(PartitionContent content, ViewEpoch pair) ABSL_LOCKS_EXCLUDED(mu_);
  // The pair whose backup it is; kSpoiled: of none any more; nothing: it is no backup.
  static constexpr ViewEpoch kSpoiled = {};
  std::optional<ViewEpoch> standby() const ABSL_LOCKS_EXCLUDED(mu_);
  // It can never be promoted. False, and nothing is done: it is not the backup of this pair.
  bool SpoilStandby(ViewEpoch pair) ABSL_LOCKS_EXCLUDED(mu_);
  // The owner hands over to its backup by `move`, for which it is frozen, and is the backup of the
  // new pair from now on, by what it has; its copy is named after the move. Gives how long it was
  // frozen; nothing, and nothing is done: it is not frozen for this move. REQUIRES: its backup has
  // carried out all that it was told.
  std::optional<absl::Duration> StandDown(ViewEpoch move, ViewEpoch pair, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Its copy is the one that is served from now on.
  void Promote(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);
  // Carries out an operation of the owner's; `share`: what it has pushed, if it is that.
  // FAILED_PRECONDITION: it is no backup of this pair; DATA_LOSS: it has come to something else
  // than the owner, and can never take its place.
  absl::Status Replay(const v1::Operation& operation, const PushShare& share, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mu_);

  using Facts = PartitionFacts;
  Facts facts() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Take(PartitionContent content, std::optional<ViewEpoch> standby) ABSL_LOCKS_EXCLUDED(mu_);
  // Applies what is queued before a copy is made, here and at the backup.
  void FlushForCopy(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells the backup what the push has come to, if it has changed anything.
  void TellPush(const PushShare& gradient, const v1::PartitionOutcome& outcome,
                ReplicaWait& replicated) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReplayPush(const v1::PushOperation& told, const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::PartitionOutcome PushParts(const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void EndCopyLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // While a copy is read: freezes the partition if the shard keeps too much for its copies.
  void HoldBackIfFull() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CatchUpLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Passes the rounds that the shard has been told, up to this one.
  void PassRounds(uint64_t last, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::Outcome PushPart(Part part, const PushShare& gradient, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns false if there was something to apply and all of its rows were too stale.
  bool CarryOut(const Decision& decision, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteRows(const PullQuery& query, size_t table, wire::PayloadWriter& writer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteBlock(const PullQuery& query, size_t block, wire::PayloadWriter& writer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PartitionIndex index_;
  const PartitionContext context_;

  std::atomic<bool> loaded_{false};
  std::atomic<bool> stands_by_{false};
  mutable absl::Mutex mu_;
  // nullptr: empty; then the machine is of timeline 0, which refuses everything.
  std::unique_ptr<PartitionStore> store_ ABSL_GUARDED_BY(mu_) ABSL_PT_GUARDED_BY(mu_);
  PartitionMachine machine_ ABSL_GUARDED_BY(mu_);
  UpdateApplier applier_ ABSL_GUARDED_BY(mu_);
  StoreCopy copy_ ABSL_GUARDED_BY(mu_);
  bool closed_by_copy_ ABSL_GUARDED_BY(mu_) = false;  // The present copy has closed the machine.
  ViewEpoch origin_ ABSL_GUARDED_BY(mu_);
  std::optional<ViewEpoch> frozen_for_ ABSL_GUARDED_BY(mu_);  // The machine is moving.
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

#endif  // CAPSTAN_PS_SHARD_PARTITION_H_
