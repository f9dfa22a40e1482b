// How many of a table's rows were last touched in each epoch. An epoch is between a sixteenth and
// an eighth of the time after which a row expires. Once all of its epoch has expired, a row has
// lapsed, and does not count any more.
//
// Which rows have lapsed depends only on the rows and the job's progress. So two copies of a table
// agree on which rows count, although one may still contain lapsed rows that the other has swept.
#ifndef CAPSTAN_STORE_ROW_EPOCHS_H_
#define CAPSTAN_STORE_ROW_EPOCHS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>

#include "capstan/base/check.h"

namespace capstan {

// The table must add every row with the time of its last touch, and remove it with the same time.
// All times are in the table's units (TouchClock). Thread-compatible.
class RowEpochs {
 public:
  // A row expires when it is older than `expiry`; 0: never, and nothing is counted.
  explicit RowEpochs(uint64_t expiry)
      : expiry_(expiry), shift_(std::max(0, static_cast<int>(std::bit_width(expiry)) - 4)) {}

  void Add(uint32_t touched) {
    if (expiry_ != 0) ++rows_[touched >> shift_];
  }
  void Remove(uint32_t touched) {
    if (expiry_ == 0) return;
    const auto at = rows_.find(touched >> shift_);
    CAPSTAN_CHECK(at != rows_.end());
    if (--at->second == 0) rows_.erase(at);
  }
  void Move(uint32_t from, uint32_t to) {
    if (from >> shift_ == to >> shift_) return;
    Remove(from);
    Add(to);
  }

  bool Lapsed(uint32_t touched, uint32_t now) const { return touched >> shift_ < FirstAt(now); }
  size_t LapsedRows(uint32_t now) const {
    const uint32_t first = FirstAt(now);
    size_t lapsed = 0;
    for (auto at = rows_.begin(); at != rows_.end() && at->first < first; ++at) {
      lapsed += at->second;
    }
    return lapsed;
  }

 private:
  // The first epoch that has not lapsed.
  uint32_t FirstAt(uint32_t now) const {
    if (expiry_ == 0 || now <= expiry_) return 0;
    return static_cast<uint32_t>((now - expiry_) >> shift_);
  }

  const uint64_t expiry_;
  const int shift_;
  std::map<uint32_t, size_t> rows_;  // By epoch; there are few epochs, as lapsed rows are swept.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_EPOCHS_H_
