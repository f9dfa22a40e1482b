// How many of a table's rows are hot, by the stamps of their changes (ChangeStamps): what says how
// much a loss of the latest changes would be felt.
#ifndef CAPSTAN_STORE_HOT_ROWS_H_
#define CAPSTAN_STORE_HOT_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "capstan/store/change_stamps.h"

namespace capstan {

// Every row is added with its frequency and stamp, and taken away with them before either changes.
// Thread-compatible.
class HotRows {
 public:
  static constexpr uint32_t kPushes = 32;  // That have held a row: from then on it is hot.

  void Add(uint32_t frequency, uint32_t stamp) { counts_[stamp] += frequency >= kPushes; }
  void Remove(uint32_t frequency, uint32_t stamp) { counts_[stamp] -= frequency >= kPushes; }

  // Every row of the stamp s has been given stamp_for(s).
  template <typename StampFor>
  void Restamp(const StampFor& stamp_for) {
    Counts counts{};
    for (uint32_t stamp = 0; stamp < counts_.size(); ++stamp) {
      counts[stamp_for(stamp)] += counts_[stamp];
    }
    counts_ = counts;
  }

  uint64_t all() const {
    uint64_t sum = 0;
    for (uint64_t count : counts_) sum += count;
    return sum;
  }

  // Changed since the last copy that is safe.
  uint64_t Unsaved(const ChangeStamps& stamps) const {
    uint64_t sum = 0;
    for (uint32_t stamp = 0; stamp < counts_.size(); ++stamp) {
      if (stamps.Unsaved(stamp)) sum += counts_[stamp];
    }
    return sum;
  }

 private:
  using Counts = std::array<uint64_t, ChangeStamps::kStamps + 1>;
  Counts counts_{};
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_HOT_ROWS_H_
