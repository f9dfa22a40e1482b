// The rows of one table that belong to one partition.
//
// A row is one block of memory: its key, weights, optimizer slots, {frequency, last touched}. A row
// that does not exist reads as its initial values; pushes create rows, pulls never do.
//
// What happens to a key depends only on this partition's own history, never on addresses, wall time
// or the order of rows in memory: a restored table with the same rows continues bit-equal. Nor does
// it depend on which of the expired rows have been swept already.
#ifndef CAPSTAN_STORE_TABLE_H_
#define CAPSTAN_STORE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/staleness.h"
#include "capstan/optim/optimizer.h"
#include "capstan/store/admission.h"
#include "capstan/store/erased_keys.h"
#include "capstan/store/gradient_sum.h"
#include "capstan/store/hot_rows.h"
#include "capstan/store/row_changes.h"
#include "capstan/store/row_epochs.h"
#include "capstan/store/row_index.h"
#include "capstan/store/row_slabs.h"
#include "capstan/store/row_updates.h"
#include "capstan/store/slab_arena.h"
#include "capstan/store/table_mark.h"
#include "capstan/store/touch_clock.h"
#include "capstan/store/update.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Counted since the table was created.
struct TableCounters {
  uint64_t updated = 0;  // Updates of single rows.
  uint64_t created = 0;
  // Rows removed to stay within the byte budget: those that were pushed least frequently.
  uint64_t evicted = 0;
  uint64_t expired = 0;  // Rows removed because they were not touched for expire_after_examples.
  uint64_t not_admitted = 0;  // Gradients of keys that have not been seen often enough.
  uint64_t refused = 0;       // Gradients of new keys for which the budget had no room.
  uint64_t stale = 0;         // Gradients of rows that were too stale.

  TableCounters& operator+=(const TableCounters& more) {
    updated += more.updated;
    created += more.created;
    evicted += more.evicted;
    expired += more.expired;
    not_admitted += more.not_admitted;
    refused += more.refused;
    stale += more.stale;
    return *this;
  }
};

// A row as in a checkpoint. `state`: weights, then slots.
struct RowState {
  uint64_t key = 0;
  uint32_t frequency = 0;  // How many pushes contained the key; does not wrap.
  uint64_t touched_examples = 0;
  absl::Span<const float> state;
  RowVersion version = RowVersion::kNoRow;  // If known; see RowUpdates.
};

// The purpose of looking up rows.
enum class RowUse { kPull, kApply };

// Thread-compatible: guarded by its partition's mutex.
class Table {
 public:
  // INVALID_ARGUMENT: a setting is impossible; the message names it. The byte budget of a partition
  // is the table's divided by partition_count. `arena`, if any, must outlive the table.
  // `least_erased`: see ErasedKeys.
  static absl::StatusOr<std::unique_ptr<Table>> Create(const v1::TableSpec& spec,
                                                       uint32_t partition_count,
                                                       SlabArena* arena = nullptr,
                                                       size_t least_erased = ErasedKeys::kLeast);

  // From now on rows have versions. REQUIRES: the table has no row yet.
  void CountUpdates();
  bool counts_updates() const { return updates_.has_value(); }

  // Writes the weights of the keys, dim() floats for each in the given order, to `values`; and
  // unless `versions` is null, a RowVersion for each key to `versions`. Both may have any
  // alignment. REQUIRES: if `versions` is not null, rows have versions.
  void Pull(PackedKeys keys, void* values, void* versions = nullptr) const;

  // Performs one update: updates every row that occurs in at least one gradient, with the weighted
  // sum of its gradients, added in the given order. Returns false if context.row_policy excluded
  // every gradient as too stale. REQUIRES: `values` (and `pulled`, unless empty) have dim() floats
  // for each key; `versions`, unless empty, have one number for each; with a row_policy rows have
  // versions.
  bool Apply(absl::Span<const RowGradients> gradients, const UpdateContext& context);

  // Prefetch memory that a use of these keys will read: first the index, then the rows that it
  // refers to. For callers that use several tables in turn; see look_ahead.h.
  void AskForIndex(PackedKeys keys, RowUse use) const;
  void AskForRows(PackedKeys keys, RowUse use) const;

  // ---- for checkpoints: in ascending order of keys ----

  void ForEachRow(absl::FunctionRef<void(const RowState&)> visit) const;
  void ForEachCandidate(absl::FunctionRef<void(const Candidate&)> visit) const;
  uint64_t progress_examples() const { return progress_examples_; }

  // Adds the row. INVALID_ARGUMENT: its state has another width. ALREADY_EXISTS: the table has the
  // key.
  absl::Status RestoreRow(const RowState& row);
  absl::Status RestoreCandidate(const Candidate& candidate);
  void RestoreProgress(uint64_t examples) {
    progress_examples_ = examples;
    AdvanceClock();
  }
  // The rows begin another job: schedules and expiry count from 0. Removes the rows that have
  // expired.
  void RestartProgress();

  // Adds a row with weights that may come from another optimizer, and initializes its slots.
  absl::Status RestoreWeights(const RowState& row);

  // Restore the content of a later copy of the table: a key's row replaces the earlier one, or is
  // erased.
  absl::Status RestoreChangedRow(const RowState& row);
  void RestoreErased(uint64_t key);
  void ForgetCandidates() { admission_.Clear(); }

  // The version of a key's row, and the life of the last created row, for a copy that is sent to
  // another shard. REQUIRES: counts_updates().
  RowVersion VersionOf(uint64_t key) const;
  uint32_t life() const { return updates_->life(); }
  void RestoreLife(uint32_t life) { updates_->RestoreLife(life); }

  // ---- a copy as of one moment, read in pieces while updates go on ----

  // Sets the mark: until Unmark() every row that has not been read yet is copied before its first
  // change, so that the present state can be read later. With `changes_only` this applies only to
  // rows that have changed since the last stored copy. REQUIRES: the previous mark has been
  // settled; changes_only only if changes_known().
  void Mark(bool changes_only);
  // Returns the mark. REQUIRES: Mark() was called, and Unmark() was not called since.
  const TableMark& mark() const { return *mark_; }
  // Returns the rows that the copy contains, in no particular order.
  std::vector<RowPlace> MarkedRows();
  // Calls visit() with each of these rows as of the mark. REQUIRES: `places` are from MarkedRows(),
  // in ascending order of keys, also from one call to the next.
  void VisitMarked(absl::Span<const RowPlace> places,
                   absl::FunctionRef<void(const RowState&)> visit);
  // The copy has been read: no more rows are kept for it.
  void Unmark();
  // Ends the mark. `safe`: the copy is stored, so that the next one may contain only later changes;
  // otherwise it was abandoned.
  void SettleMark(bool safe);

  // From now on the table records its changes; they are known from here on if it was just restored.
  void TrackChanges() { erased_.Track(); }
  bool changes_known() const { return erased_.known(); }
  size_t kept_bytes() const { return mark_ == nullptr ? 0 : mark_->images.memory_bytes(); }

  // ---- facts ----

  // The staleness, by their versions, of those rows of the last Apply that were judged.
  const StalenessCounts& row_staleness() const { return row_staleness_; }

  TableId id() const { return static_cast<TableId>(spec_.id()); }
  const v1::TableSpec& spec() const { return spec_; }
  size_t dim() const { return spec_.dim(); }
  size_t slot_count() const { return slot_count_; }
  // The number of rows in memory, including expired rows that are not swept yet.
  size_t row_count() const { return index_.size(); }
  // The number of rows that count for the byte budget: equal in every copy of the table, see
  // RowEpochs.
  size_t counted_rows() const { return index_.size() - epochs_.LapsedRows(Now()); }
  size_t row_bytes() const { return slabs_.row_bytes(); }
  static constexpr uint32_t kHotPushes = HotRows::kPushes;  // A row is hot after this many pushes.
  uint64_t hot_rows() const { return hot_.all(); }
  // The hot rows that have changed since the last stored copy.
  uint64_t hot_rows_unsaved() const { return hot_.unsaved(); }
  size_t memory_bytes() const;  // Rows, index and candidates, including memory reserved for growth.
  const TableCounters& counters() const { return counters_; }

 private:
  // Consecutive columns with one initializer and one learning rate. Offsets count from the row's
  // first weight.
  struct Segment {
    Parameters In(float* state) const { return {state + offset, state + slot_offset, width}; }

    v1::Initializer initializer;
    size_t offset = 0;
    size_t width = 0;
    size_t slot_offset = 0;
    size_t slot_end = 0;
    float learning_rate_scale = 1;
  };

  // What Apply needs while it runs, kept for its capacity. There is one per thread, rather than per
  // table: otherwise each of a job's many small tables would have to load its own into the cache.
  struct Work {
    KeyGroups groups;
    std::vector<uint32_t> found;  // By group: the number of its row, or kMissing or kNew.
  };
  static constexpr uint32_t kMissing = RowIndex::kNone;  // The key has no row.
  static constexpr uint32_t kNew = RowIndex::kNone - 1;  // The key gets a row in this update.
  static_assert(RowIndex::kMaxRows < kNew);

  Table(const v1::TableSpec& spec, std::unique_ptr<Optimizer> optimizer, SlabArena* arena,
        size_t least_erased);
  static Work& WorkOfThread();
  static std::vector<Segment> SegmentsOf(const v1::TableSpec& spec, const Optimizer& optimizer);

  // The steps of Apply, in this order; `found` in the Work has the result for each key.
  void FindRows();
  bool RowsAreNear() const;
  bool EraseExpired();
  bool WeighRows(const v1::UpdatePolicy& policy);
  size_t AdmitNew();
  void EvictFor(size_t wanted);
  void SweepFor(size_t wanted);
  void EraseAllExpired();
  void FindRowsAgain();
  void UpdateRow(size_t group, const UpdateContext& context, float rate);
  void SweepSome(size_t at_most);
  void SweepNext();

  template <typename KeyAt, typename Found>
  void ForEachFound(size_t count, const KeyAt& key_at, size_t bytes, const Found& found) const;
  uint32_t FindRow(uint64_t key, uint32_t tag) const;
  void FillInitialRow(uint64_t key, void* weights) const;
  void InitializeSlots(const RowSlabs::Row& row);
  uint32_t CreateRow(uint64_t key);
  uint32_t AppendRow();
  void Erase(uint32_t row);
  void Write(uint32_t number, const RowState& state);
  absl::Status CheckWidth(const RowState& state) const;
  RowState StateOf(const RowSlabs::Row& row) const;
  // Must be called before the row is changed by `times` gradients.
  void Touch(uint32_t row, uint32_t times);
  void KeepImage(uint32_t row);
  RowSlabs::Row FindMarked(const RowPlace& place) const;
  uint32_t Now() const { return clock_.TimeAt(progress_examples_); }
  // Must be called after progress_examples_ has changed.
  void AdvanceClock();
  bool Expired(uint32_t row) const;

  const v1::TableSpec spec_;
  const std::unique_ptr<Optimizer> optimizer_;
  const std::vector<Segment> segments_;
  const size_t slot_count_;
  const bool rate_is_constant_;
  const float constant_rate_;             // If rate_is_constant_.
  TouchClock clock_;                      // The clock by which rows are touched and expire.
  size_t max_rows_ = RowIndex::kMaxRows;  // How many rows fit into the byte budget.

  RowIndex index_;
  RowSlabs slabs_;
  RowEpochs epochs_;  // Counts the rows of slabs_.
  Admission admission_;
  uint64_t progress_examples_ = 0;
  uint32_t sweep_next_ = 0;
  TableCounters counters_;

  RowChanges changes_;                 // When the rows of slabs_ last changed.
  std::optional<RowUpdates> updates_;  // How often the rows of slabs_ were updated.
  HotRows hot_;
  std::unique_ptr<TableMark> mark_;
  ErasedKeys erased_;

  StalenessCounts row_staleness_;

  Work* work_ = nullptr;  // Set while Apply runs.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_TABLE_H_
