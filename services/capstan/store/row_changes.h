// Which rows have changed since which copy of a table. These are bits stored apart from the rows,
// so that a copy of the changes finds the changed rows without reading the others.
#ifndef CAPSTAN_STORE_ROW_CHANGES_H_
#define CAPSTAN_STORE_ROW_CHANGES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/base/prefetch.h"

namespace capstan {

// When a row last changed. The mark is the moment of a copy that is not known to be stored yet.
enum class RowChange : uint8_t {
  kSaved,   // Before the last stored copy.
  kMarked,  // After the last stored copy, and before the mark.
  kFresh,   // After the mark; without a mark, after the last stored copy.
};

// When each of many rows last changed. Rows are numbered contiguously, as in RowSlabs.
// Thread-compatible.
class RowChanges {
 public:
  uint32_t size() const { return size_; }

  // Prefetches the memory with the bits of `row`.
  void Prefetch(uint32_t row) const { capstan::Prefetch(&words_[row / kBits], sizeof(Word)); }

  RowChange of(uint32_t row) const {
    const Word& word = words_[row / kBits];
    if ((word.fresh & Bit(row)) != 0) return RowChange::kFresh;
    return (word.marked & Bit(row)) != 0 ? RowChange::kMarked : RowChange::kSaved;
  }
  void SetFresh(uint32_t row) { words_[row / kBits].fresh |= Bit(row); }
  void SetSaved(uint32_t row) {
    words_[row / kBits].fresh &= ~Bit(row);
    words_[row / kBits].marked &= ~Bit(row);
  }

  // Adds a row with the state kSaved.
  void Append();
  // Removes `row`; the last row gets its number.
  void Remove(uint32_t row);

  // Sets the mark: every change so far is before it. REQUIRES: the previous mark has been settled.
  void Mark();
  // Ends the mark. `safe`: the copy is stored; otherwise it was abandoned.
  void Settle(bool safe);

  // Calls visit(row) for each row that has not changed since the mark, in ascending order; with
  // `changes_only`, only for those that are kMarked.
  template <typename Visit>
  void ForEachKept(bool changes_only, const Visit& visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      uint64_t kept = ~words_[i].fresh & (changes_only ? words_[i].marked : Exist(i));
      for (; kept != 0; kept &= kept - 1) {
        visit(static_cast<uint32_t>(i * kBits + static_cast<size_t>(std::countr_zero(kept))));
      }
    }
  }

  size_t memory_bytes() const { return words_.capacity() * sizeof(Word); }

 private:
  static constexpr uint32_t kBits = 64;
  // The changes of kBits rows, one bit for each; 0 beyond the last row.
  struct Word {
    uint64_t fresh = 0;
    uint64_t marked = 0;  // Changed before the mark; the row may be fresh as well.
  };

  static uint64_t Bit(uint32_t row) { return uint64_t{1} << row % kBits; }
  uint64_t Exist(size_t word) const {
    return (word + 1) * kBits <= size_ ? ~uint64_t{0} : Bit(size_) - 1;
  }

  uint32_t size_ = 0;
  std::vector<Word> words_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_CHANGES_H_
