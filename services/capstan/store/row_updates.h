// How often each row of a table was updated, by which the staleness of gradients is judged. Takes
// four bytes for each row, apart from the row. Checkpoints do not contain them: after a restore no
// client has a version from before. They move with a partition to another shard.
#ifndef CAPSTAN_STORE_ROW_UPDATES_H_
#define CAPSTAN_STORE_ROW_UPDATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/base/prefetch.h"
#include "capstan/consistency/staleness.h"

namespace capstan {

// How often each of many rows was updated. Rows are numbered contiguously, as in RowSlabs.
// Thread-compatible.
class RowUpdates {
 public:
  // A version is [life: 8 bits | updates: 24 bits, which wrap]. Each row that is created gets the
  // next life, so that a row that was evicted and created again differs from the row before.
  static constexpr uint32_t kUpdateBits = 24;
  static constexpr uint32_t kUpdates = (uint32_t{1} << kUpdateBits) - 1;

  // Prefetches the memory with the version of `row`.
  void Prefetch(uint32_t row) const { capstan::Prefetch(&versions_[row], sizeof(uint32_t)); }

  // The life of the last created row. RestoreLife and Restore take over the life and the versions
  // of another table whose rows come here.
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
  // Removes `row`; the last row gets its number.
  void Remove(uint32_t row);

  size_t memory_bytes() const { return versions_.capacity() * sizeof(uint32_t); }

 private:
  uint32_t life_ = 0;  // The life of the last created row; 1 to 255.
  std::vector<uint32_t> versions_;
};

// Returns how many updates a key's row has had since a pull read `pulled`. `now`: the row's version
// before this update is applied. If the row was created after the pull, all its updates count, plus
// one if an earlier row was erased. The same holds if `pulled` is ahead of `now` in the same life,
// which no client was ever given.
[[nodiscard]] uint64_t UpdatesSince(RowVersion pulled, RowVersion now);

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_UPDATES_H_
