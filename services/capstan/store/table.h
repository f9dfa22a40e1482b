// The rows of one table that live in one partition.
//
// A row is one block of memory: its key, weights, optimizer slots, {frequency, last touched}. A row
// that does not exist reads as its initial values; pushes create rows, pulls never do.
//
// What becomes of a key depends on this partition's own history alone, never on addresses, wall
// time or the order of rows in memory: a restore of the same rows goes on bit-equal. Nor does it
// depend on which of the rows that have expired are swept already.
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

// Since the table was made.
struct TableCounters {
  uint64_t updated = 0;  // Rows, once for each update of each.
  uint64_t created = 0;
  uint64_t evicted = 0;       // To stay within the byte budget: the least frequently pushed.
  uint64_t expired = 0;       // Untouched for expire_after_examples.
  uint64_t not_admitted = 0;  // Gradients of keys not yet seen often enough.
  uint64_t refused = 0;       // Gradients of new keys for which the budget had no room.
  uint64_t stale = 0;         // Gradients of rows that were too stale.
};

// A row as a checkpoint holds it. `state`: weights, then slots.
struct RowState {
  uint64_t key = 0;
  uint32_t frequency = 0;  // Pushes that held the key; stays at its maximum.
  uint64_t touched_examples = 0;
  absl::Span<const float> state;
  RowVersion version = RowVersion::kNoRow;  // Where it is known; see RowUpdates.
};

// What rows are looked up for.
enum class RowUse { kPull, kApply };

// Thread-compatible: guarded by its partition's mutex.
class Table {
 public:
  // INVALID_ARGUMENT names the setting that is impossible. The budget of a partition is the table's
  // divided by partition_count. `arena`, if any, must outlive the table. `least_erased`: see
  // ErasedKeys.
  static absl::StatusOr<std::unique_ptr<Table>> Create(const v1::TableSpec& spec,
                                                       uint32_t partition_count,
                                                       SlabArena* arena = nullptr,
                                                       size_t least_erased = ErasedKeys::kLeast);

  // From now on rows have versions. REQUIRES: there is none yet.
  void CountUpdates();
  bool counts_updates() const { return updates_.has_value(); }

  // Writes dim() floats a key, in the order of the keys, to `values`, and unless it is nullptr a
  // RowVersion a key to `versions`; both may have any alignment. REQUIRES: rows have versions if
  // they are wanted.
  void Pull(PackedKeys keys, void* values, void* versions = nullptr) const;

  // One update: of every row that occurs in at least one of the gradients, with the weighted sum of
  // these, added in the given order.
  // REQUIRES: values (and pulled, unless empty) have dim() floats a key, `versions`, unless empty,
  // one; with a row_policy rows have versions. False: by that policy nothing was fresh enough.
  bool Apply(absl::Span<const RowGradients> gradients, const UpdateContext& context);

  // Ask for memory that a use of these keys will read: of the index first, then, by what that says,
  // of the rows. For those who go from table to table; see look_ahead.h.
  void AskForIndex(PackedKeys keys, RowUse use) const;
  void AskForRows(PackedKeys keys, RowUse use) const;

  // ---- for checkpoints: in ascending order of keys ----

  void ForEachRow(absl::FunctionRef<void(const RowState&)> visit) const;
  void ForEachCandidate(absl::FunctionRef<void(const Candidate&)> visit) const;
  uint64_t progress_examples() const { return progress_examples_; }

  // INVALID_ARGUMENT for a state of another width, ALREADY_EXISTS for a key that is there.
  absl::Status RestoreRow(const RowState& row);
  absl::Status RestoreCandidate(const Candidate& candidate);
  void RestoreProgress(uint64_t examples) {
    progress_examples_ = examples;
    AdvanceClock();
  }
  // The rows begin another job: schedules and expiry count from 0. Those that have expired are
  // gone.
  void RestartProgress();

  // Restores the weights of a row that another optimizer has left; its slots begin as those of a
  // new row.
  absl::Status RestoreWeights(const RowState& row);

  // What a later copy of the table holds: a key's row is replaced, or erased.
  absl::Status RestoreChangedRow(const RowState& row);
  void RestoreErased(uint64_t key);
  void ForgetCandidates() { admission_.Clear(); }

  // The version of a key's row, and the life of the last row made, for a copy that goes to another
  // shard. REQUIRES: counts_updates().
  RowVersion VersionOf(uint64_t key) const;
  uint32_t life() const { return updates_->life(); }
  void RestoreLife(uint32_t life) { updates_->RestoreLife(life); }

  // ---- a copy as of a moment, taken in pieces while updates go on ----

  // From now on rows are kept as they are, by a copy of each before its first change. With
  // `changes_only`, of those alone that have changed since the last copy that is safe.
  // REQUIRES: the mark before has been settled; changes_only only if changes_known().
  void Mark(bool changes_only);
  // What was marked. REQUIRES: it is marked.
  const TableMark& mark() const { return *mark_; }
  // The rows that a copy holds, in no order.
  std::vector<RowPlace> MarkedRows();
  // Shows these rows as they were. REQUIRES: they ascend, from call to call as well, and are of
  // MarkedRows().
  void VisitMarked(absl::Span<const RowPlace> places,
                   absl::FunctionRef<void(const RowState&)> visit);
  // The copy has been taken: nothing is kept any more.
  void Unmark();
  // It is safe, so that the next one may hold later changes alone; or it has come to nothing.
  void SettleMark(bool safe);

  // From now on it is known what has changed: since now, where the table has been restored.
  void TrackChanges() { erased_.Track(); }
  bool changes_known() const { return erased_.known(); }
  size_t kept_bytes() const { return mark_ == nullptr ? 0 : mark_->images.memory_bytes(); }

  // ---- facts ----

  // How stale the rows of the last Apply were by their versions, as far as it was judged.
  const StalenessCounts& row_staleness() const { return row_staleness_; }

  TableId id() const { return static_cast<TableId>(spec_.id()); }
  const v1::TableSpec& spec() const { return spec_; }
  size_t dim() const { return spec_.dim(); }
  size_t slot_count() const { return slot_count_; }
  // In memory: rows that have expired are among them until they are swept.
  size_t row_count() const { return index_.size(); }
  // Those that count for the byte budget: the same in every copy of the table, see RowEpochs.
  size_t counted_rows() const { return index_.size() - epochs_.LapsedRows(Now()); }
  size_t row_bytes() const { return slabs_.row_bytes(); }
  static constexpr uint32_t kHotPushes = HotRows::kPushes;  // That have held a row: it is hot.
  uint64_t hot_rows() const { return hot_.all(); }
  // Those of them that have changed since the last copy that is safe.
  uint64_t hot_rows_unsaved() const { return hot_.unsaved(); }
  size_t memory_bytes() const;  // Rows, index and candidates, with what is reserved for growth.
  const TableCounters& counters() const { return counters_; }

 private:
  // A run of columns with one initializer and one learning rate. Offsets count from the row's first
  // weight.
  struct Segment {
    Parameters In(float* state) const { return {state + offset, state + slot_offset, width}; }

    v1::Initializer initializer;
    size_t offset = 0;
    size_t width = 0;
    size_t slot_offset = 0;
    size_t slot_end = 0;
    float learning_rate_scale = 1;
  };

  // What Apply needs while it runs, kept for its capacity: one for each thread, as the many small
  // tables of a job would each have to fetch its own.
  struct Work {
    KeyGroups groups;
    std::vector<uint32_t> found;  // By group: the number of its row, or that it has none.
  };

  Table(const v1::TableSpec& spec, std::unique_ptr<Optimizer> optimizer, SlabArena* arena,
        size_t least_erased);
  static Work& WorkOfThread();
  static std::vector<Segment> SegmentsOf(const v1::TableSpec& spec, const Optimizer& optimizer);

  // The steps of Apply, in this order; `found` of the work holds what became of each key.
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
  // Before a change of the row, by so many gradients.
  void Touch(uint32_t row, uint32_t times);
  void KeepImage(uint32_t row);
  RowSlabs::Row FindMarked(const RowPlace& place) const;
  uint32_t Now() const { return clock_.TimeAt(progress_examples_); }
  // After the progress has changed.
  void AdvanceClock();
  bool Expired(uint32_t row) const;

  const v1::TableSpec spec_;
  const std::unique_ptr<Optimizer> optimizer_;
  const std::vector<Segment> segments_;
  const size_t slot_count_;
  const bool rate_is_constant_;
  const float constant_rate_;             // If it is.
  TouchClock clock_;                      // Says when rows were last touched.
  size_t max_rows_ = RowIndex::kMaxRows;  // What the budget has room for.

  RowIndex index_;
  RowSlabs slabs_;
  RowEpochs epochs_;  // Counts the rows of slabs_.
  Admission admission_;
  uint64_t progress_examples_ = 0;
  uint32_t sweep_next_ = 0;
  TableCounters counters_;

  RowChanges changes_;                 // What has changed in the rows of slabs_.
  std::optional<RowUpdates> updates_;  // Likewise.
  HotRows hot_;
  std::unique_ptr<TableMark> mark_;
  ErasedKeys erased_;

  StalenessCounts row_staleness_;

  Work* work_ = nullptr;  // While Apply runs.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_TABLE_H_
