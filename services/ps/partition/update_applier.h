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

// Holds what the machine knows by handles alone: the gradients that wait, the sum of those that
// have been added in the open round, and the updates that have been put off. *Thread-compatible*:
// guarded by its partition's lock.
class UpdateApplier {
 public:
  using Gradients = absl::flat_hash_map<GradientHandle, PushShare>;

  // Both must outlive this object. Until Begin() there is no store.
  UpdateApplier(const Catalog& catalog, ShardMetrics& metrics)
      : catalog_(catalog), metrics_(metrics) {}

  // Begins anew on `store`, which must outlive the decisions that are carried out on it; nullptr:
  // no store, and no decision may add or apply anything. `observed`: tell the metrics how stale
  // gradients were and how many were added ahead, which a backup leaves to the owner. Returns the
  // gradients that waited, so that the caller can drop them while it holds no lock.
  [[nodiscard]] Gradients Begin(PartitionStore* store, bool observed);
  // Sets `observed`, when the partition has become the owner from a backup, or a backup from the
  // owner.
  void SetObserved(bool observed) { observed_ = observed; }

  // How far the whole job is, in examples: the highest number that this partition was told since
  // Begin().
  void RaiseProgress(uint64_t examples) { progress_ = std::max(progress_, examples); }
  uint64_t progress() const { return progress_; }

  // Keeps the gradient until a decision names it. Returns the handle by which decisions name it.
  GradientHandle Keep(const PushShare& gradient);

  // Returns true if each row of the gradient is judged by its own version: the job counts the
  // updates of rows, and the push names the version of each row that it has pulled.
  bool JudgedByRows(const PushShare& gradient) const;

  // Adds, applies and drops the gradients that the decision names, in its order. Returns false if
  // there was an update, and every row of it was too stale. REQUIRES: every handle in the decision
  // was returned by Keep() since the last Begin(), and was in no decision before.
  bool CarryOut(const Decision& decision, absl::Time now);

  // In place of CarryOut(), for a partition of which nobody reads rows and blocks: puts off what
  // the decision applies, until ApplyPutOff() or until a decision is carried out that adds or
  // applies something. So the bits are the same, and the rows of many updates of one partition
  // are fetched into the caches together. Returns false and does nothing if the decision does not
  // apply the gradient that was kept last and nothing else; if the update might turn out too stale;
  // and if the push does not hold its memory itself.
  bool PutOff(const Decision& decision);
  // Applies what has been put off, in its order.
  void ApplyPutOff(absl::Time now);
  // Bytes of what has been put off, about.
  size_t put_off_bytes() const { return put_off_bytes_; }

  // Bytes that the sum of the open round takes.
  size_t memory_bytes() const { return sum_.memory_bytes(); }

 private:
  // Gradients of one table's rows, which are part of an update.
  struct TableShare {
    size_t table = 0;  // Its place in the store.
    RowGradients gradients;
  };

  // An update that has been put off: of one gradient, by which its only contribution is named when
  // it is applied.
  struct Later {
    PushShare gradient;
    Update update;
    uint64_t progress = 0;  // As of when it was put off.
  };

  // Puts last_kept_ among the others, if it is there.
  void PutAway();
  // The gradient of this handle, which waits still. Forget() drops it.
  const PushShare& Kept(GradientHandle handle) const;
  void Forget(GradientHandle handle);
  void Add(const Addition& addition);
  bool MayTurnOutStale(Part part, const PushShare& gradient) const;
  // Fills ahead_ with the rows that what has been put off will change.
  void GatherAhead();
  // Apply() and ApplyRows() return false if every row was too stale. `progress`: of the job, at the
  // time of the update.
  bool Apply(const Update& update, uint64_t progress, absl::Time now);
  bool ApplyRows(const Update& update, const UpdateContext& context);
  void ApplyBlocks(const Update& update, const UpdateContext& context);
  bool IsRunning(BlockId block) const;
  // Fills shares_, in the order of the job's tables, and within a table in the order of the
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
  // The gradient of last_handle_, unless it has been forgotten. Most decisions are on that one, so
  // it is put among the others only if it still waits when the next one comes.
  PushShare last_kept_;
  Gradients kept_;  // The others.
  RoundSum sum_;    // The sum of the open round.
  std::vector<Later> put_off_;
  size_t put_off_bytes_ = 0;
  std::array<VersionTimes, kParts> version_times_;

  // Scratch.
  std::vector<TableShare> shares_;  // What one update has for each table.
  std::vector<WantedRows> wanted_;  // As shares_.
  std::vector<WantedRows> ahead_;   // What all of put_off_ has for tables.
  std::vector<RowGradients> rows_;  // What one update has for one table.
  std::vector<BlockGradient> blocks_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_UPDATE_APPLIER_H_
