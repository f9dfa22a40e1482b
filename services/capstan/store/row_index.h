// Finds the number of a key's row, by open addressing over entries of 8 bytes, 8 of which fit into
// a cache line. The key itself is in the row; an entry has 32 bits of the key's hash (the tag) and
// the row's number, so growing never accesses a row.
#ifndef CAPSTAN_STORE_ROW_INDEX_H_
#define CAPSTAN_STORE_ROW_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/base/prefetch.h"

namespace capstan {

// Thread-compatible.
class RowIndex {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr uint32_t kMaxRows = kNone - 2;
  static constexpr size_t kMaxBytesPerRow = 16;

  // Uses another seed than PartitionOfKey, because in that hash the keys of a partition have some
  // bits in common.
  explicit RowIndex(uint64_t table_seed) : seed_(Mix64(table_seed + 1)), entries_(kMinCapacity) {}

  uint32_t TagOf(uint64_t key) const { return static_cast<uint32_t>(Mix64(key ^ seed_) >> 32); }

  // Prefetches the cache line at which Find will begin.
  void Prefetch(uint32_t tag) const { capstan::Prefetch(&entries_[Home(tag)], sizeof(uint64_t)); }

  // Returns the first row with this tag, which is most likely the right one, or kNone. Accesses no
  // row.
  uint32_t FirstCandidate(uint32_t tag) const {
    return Find(tag, [](uint32_t) { return true; });
  }

  // Returns the row with this tag for which matches(row) is true, or kNone.
  template <typename Matches>
  uint32_t Find(uint32_t tag, Matches matches) const {
    for (size_t i = Home(tag); entries_[i] != 0; i = Next(i)) {
      if (TagIn(entries_[i]) == tag && matches(RowIn(entries_[i]))) return RowIn(entries_[i]);
    }
    return kNone;
  }

  // REQUIRES: `row` is not in the index, and is at most kMaxRows.
  void Insert(uint32_t tag, uint32_t row);

  // Both REQUIRE that the index contains the pair.
  void Erase(uint32_t tag, uint32_t row);
  void Renumber(uint32_t tag, uint32_t from, uint32_t to);

  size_t size() const { return size_; }
  size_t memory_bytes() const { return entries_.size() * sizeof(uint64_t); }

 private:
  static constexpr size_t kMinCapacity = 8;

  // 0 is an empty entry, hence row + 1.
  static uint64_t Entry(uint32_t tag, uint32_t row) { return (uint64_t{tag} << 32) | (row + 1); }
  static uint32_t TagIn(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
  static uint32_t RowIn(uint64_t entry) { return static_cast<uint32_t>(entry) - 1; }

  size_t Home(uint32_t tag) const { return (uint64_t{tag} * entries_.size()) >> 32; }
  size_t Next(size_t i) const { return i + 1 == entries_.size() ? 0 : i + 1; }
  size_t PlaceOf(uint32_t tag, uint32_t row) const;
  void Grow();

  uint64_t seed_;
  size_t size_ = 0;
  std::vector<uint64_t> entries_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_INDEX_H_
