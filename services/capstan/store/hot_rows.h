// How many of a table's rows are hot, and for how many of these the last stored copy lacks the
// latest changes: a measure of how much their loss would matter.
#ifndef CAPSTAN_STORE_HOT_ROWS_H_
#define CAPSTAN_STORE_HOT_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "capstan/store/row_changes.h"

namespace capstan {

// The table must add every row with its frequency and change, and remove it with the old values
// before either changes. Thread-compatible.
class HotRows {
 public:
  static constexpr uint32_t kPushes = 32;  // A row is hot once this many pushes contained it.

  void Add(uint32_t frequency, RowChange change) { Of(change) += frequency >= kPushes; }
  void Remove(uint32_t frequency, RowChange change) { Of(change) -= frequency >= kPushes; }

  // The same as RowChanges::Mark and Settle.
  void Mark() { Of(RowChange::kMarked) += std::exchange(Of(RowChange::kFresh), 0); }
  void Settle(bool safe) {
    Of(safe ? RowChange::kSaved : RowChange::kFresh) += std::exchange(Of(RowChange::kMarked), 0);
  }

  uint64_t all() const { return counts_[0] + unsaved(); }
  // The hot rows that are not kSaved.
  uint64_t unsaved() const { return counts_[1] + counts_[2]; }

 private:
  uint64_t& Of(RowChange change) { return counts_[static_cast<size_t>(change)]; }

  std::array<uint64_t, 3> counts_{};  // By RowChange.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_HOT_ROWS_H_
