// Carries out the decisions of a partition's machine on the rows and blocks of the partition.
#ifndef CAPSTAN_PS_PARTITION_UPDATE_APPLIER_H_
#define CAPSTAN_PS_PARTITION_UPDATE_APPLIER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/store/look_ahead.h"
#include "capstan/store/partition_store.h"
#include "capstan/store/round_sum.h"
#include "capstan/store/update.h"
#include "ps/machines/decision.h"
#include "ps/partition/catalog.h"
#include "ps/partition/push_message.h"
#include "ps/partition/shard_metrics.h"
#include "ps/partition/version_times.h"

namespace capstan::ps {

// Holds the data that the machine knows only by handle: the gradients that wait, the sum of those
// that were added in the open round, and the deferred updates. *Thread-compatible*: guarded by its
// partition's lock.
class UpdateApplier {
 public:
  using Gradients = absl::flat_hash_map<GradientHandle, PushShare>;

  // Both must outlive this object. There is no store until Begin().
  UpdateApplier(const Catalog& catalog, ShardMetrics& metrics)
      : catalog_(catalog), metrics_(metrics) {}

  // Starts over with `store`, which must outlive the decisions that are carried out on it; null: no
  // store, and no decision may add or apply anything. `observed`: record in the metrics how stale
  // gradients were and how many were added before the round closed; a backup leaves that to the
  // owner. Returns the gradients that waited, so that the caller can drop them without holding a
  // lock.
  [[nodiscard]] Gradients Begin(PartitionStore* store, bool observed);
  // Sets `observed`, when a backup has become the owner, or the owner a backup.
  void SetObserved(bool observed) { observed_ = observed; }

  // The progress of the whole job, in examples: the highest number passed to this partition since
  // Begin().
  void RaiseProgress(uint64_t examples) { progress_ = std::max(progress_, examples); }
  uint64_t progress() const { return progress_; }

  // Keeps the gradient until a decision contains it. Returns its handle.
  GradientHandle Keep(const PushShare& gradient);

  // Returns true if each row of the gradient is judged by its own staleness: the job counts the
  // updates of rows, and the push names the version of each row that it has pulled.
  bool JudgedByRows(const PushShare& gradient) const;

  // Adds, applies and drops the gradients in the decision, in its order. Returns false if there was
  // an update and all of its rows were too stale. REQUIRES: every handle in the decision was
  // returned by Keep() since the last Begin(), and was in no earlier decision.
  bool CarryOut(const Decision& decision, absl::Time now);

  // An alternative to CarryOut() for a partition whose rows and blocks nobody reads: defers what
  // the decision applies until ApplyPutOff() is called, or a decision is carried out that adds or
  // applies something. The results are bit-equal, and the rows of many updates of one partition are
  // prefetched together. Returns false and does nothing unless the decision applies only the
  // gradient that was kept last, the update cannot be too stale, and the push owns its memory.
  bool PutOff(const Decision& decision);
  // Applies the deferred updates, in their order.
  void ApplyPutOff(absl::Time now);
  // The approximate size in bytes of the deferred updates.
  size_t put_off_bytes() const { return put_off_bytes_; }

  // The size in bytes of the sum of the open round.
  size_t memory_bytes() const { return sum_.memory_bytes(); }

 private:
  // The gradients of one table's rows in an update.
  struct TableShare {
    size_t table = 0;  // Index of the table in the store.
    RowGradients gradients;
  };

  // A deferred update with one gradient. Its only contribution gets the gradient's handle when the
  // update is applied.
  struct Later {
    PushShare gradient;
    Update update;
    uint64_t progress = 0;  // The progress when the update was deferred.
  };

  // Moves last_kept_ to kept_, if it is set.
  void PutAway();
  // Returns the gradient with this handle, which still waits. Forget() drops it.
  const PushShare& Kept(GradientHandle handle) const;
  void Forget(GradientHandle handle);
  void Add(const Addition& addition);
  bool MayTurnOutStale(Part part, const PushShare& gradient) const;
  // Fills ahead_ with the rows that the deferred updates will change.
  void GatherAhead();
  // Apply() and ApplyRows() return false if every row was too stale. `progress`: the job's progress
  // at the time of the update.
  bool Apply(const Update& update, uint64_t progress, absl::Time now);
  bool ApplyRows(const Update& update, const UpdateContext& context);
  void ApplyBlocks(const Update& update, const UpdateContext& context);
  bool IsRunning(BlockId block) const;
  // Fills shares_: in the order of the job's tables, and within a table in the order of the
  // contributions.
  void GatherRows(const Update& update);
  void Observe(const Update& update, absl::Time now);
  UpdateContext ContextOf(const Update& update, uint64_t progress) const;

  const Catalog& catalog_;
  ShardMetrics& metrics_;
  PartitionStore* store_ = nullptr;
  bool observed_ = true;
  uint64_t progress_ = 0;
  uint64_t last_handle_ = 0;
  // The gradient of last_handle_, unless it has been dropped. Most decisions are about that one, so
  // it is moved to kept_ only if it still waits when the next one comes.
  PushShare last_kept_;
  Gradients kept_;  // All other gradients that wait.
  RoundSum sum_;    // The sum of the open round.
  std::vector<Later> put_off_;
  size_t put_off_bytes_ = 0;
  std::array<VersionTimes, kParts> version_times_;

  // Scratch.
  std::vector<TableShare> shares_;  // The gradients of one update, by table.
  std::vector<WantedRows> wanted_;  // In the order of shares_.
  std::vector<WantedRows> ahead_;   // The rows of all of put_off_, by table.
  std::vector<RowGradients> rows_;  // The gradients of one update for one table.
  std::vector<BlockGradient> blocks_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_UPDATE_APPLIER_H_
