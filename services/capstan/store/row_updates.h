// How often each row of a table has been updated, for the staleness of gradients. Four bytes beside
// the row, which no checkpoint holds: whoever comes back with the rows has been given no versions.
// They go with a partition to another shard.
#ifndef CAPSTAN_STORE_ROW_UPDATES_H_
#define CAPSTAN_STORE_ROW_UPDATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/base/prefetch.h"
#include "capstan/consistency/staleness.h"

namespace capstan {

// How often each of many rows was updated. Rows are numbered without gaps, as in RowSlabs.
// Thread-compatible.
class RowUpdates {
 public:
  // A version is [life: 8 bits | updates: 24 bits, which wrap]. A row that is made has the next
  // life, so that one that was evicted and made again is told from the one before.
  static constexpr uint32_t kUpdateBits = 24;
  static constexpr uint32_t kUpdates = (uint32_t{1} << kUpdateBits) - 1;

  // Asks for the memory that tells of a row.
  void Prefetch(uint32_t row) const { capstan::Prefetch(&versions_[row], sizeof(uint32_t)); }

  // The life of the row made last, and any row's version: as another table has them whose rows come
  // here.
  uint32_t life() const { return life_; }
  void RestoreLife(uint32_t life) { life_ = life; }
  void Restore(uint32_t row, RowVersion version) {
    versions_[row] = static_cast<uint32_t>(version);
  }

  RowVersion of(uint32_t row) const { return static_cast<RowVersion>(versions_[row]); }
  void Count(uint32_t row) {
    uint32_t& version = versions_[row];
    version = (version & ~kUpdates) | ((version + 1) & kUpdates);
  }

  // Adds a row without updates.
  void Append();
  // The last row takes the place of this one.
  void Remove(uint32_t row);

  size_t memory_bytes() const { return versions_.capacity() * sizeof(uint32_t); }

 private:
  uint32_t life_ = 0;  // The life of the row that was made last; 1 to 255.
  std::vector<uint32_t> versions_;
};

// Updates of a key's row since a pull has read `pulled`; `now` is its version before the
// application. A row that has been made meanwhile has had all its updates since; that the one
// before was erased counts as one more. So does a version of the same row that has not been yet,
// which nobody was given.
[[nodiscard]] uint64_t UpdatesSince(RowVersion pulled, RowVersion now);

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_UPDATES_H_
