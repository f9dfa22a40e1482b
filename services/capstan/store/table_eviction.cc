// The member functions of Table that remove rows, because they have lapsed or the byte budget is
// used up.
#include <algorithm>
#include <tuple>
#include <vector>

#include "capstan/store/table.h"

namespace capstan {
namespace {

// When the budget is used up, one of this many rows is evicted at once, because finding the least
// frequently pushed rows takes a pass over all.
constexpr size_t kEvictedShare = 16;

}  // namespace

// Erases the rows that have expired, then the least frequently pushed ones; of equally frequent
// rows first those that were not touched for longer, then those with lower keys. The choice depends
// only on progress and the rows that count. Rows of the present update are kept.
void Table::EvictFor(size_t wanted) {
  const size_t counted = counted_rows();
  const size_t excess = std::max(counted + wanted - max_rows_, max_rows_ / kEvictedShare);
  EraseAllExpired();
  FindRowsAgain();
  const size_t gone = counted - index_.size();
  std::vector<bool> stays(slabs_.size());
  for (uint32_t row : work_->found) {
    if (row < kNew) stays[row] = true;
  }
  using Worth = std::tuple<uint32_t, uint32_t, uint64_t>;  // (frequency, touched, key)
  std::vector<Worth> rows;
  for (uint32_t i = 0; i < slabs_.size(); ++i) {
    const RowSlabs::Row row = slabs_.at(i);
    if (!stays[i]) rows.emplace_back(row.frequency(), row.touched(), row.key());
  }
  const size_t victims = std::min(rows.size(), excess - std::min(excess, gone));
  std::nth_element(rows.begin(), rows.begin() + victims, rows.end());
  for (size_t i = 0; i < victims; ++i) {
    const uint64_t key = std::get<uint64_t>(rows[i]);
    Erase(FindRow(key, index_.TagOf(key)));
  }
  counters_.evicted += victims;
  FindRowsAgain();
}

// Erases lapsed rows, which do not count any more; as few as needed to make room for `wanted` rows.
void Table::SweepFor(size_t wanted) {
  while (index_.size() + wanted > max_rows_) SweepNext();
  FindRowsAgain();
}

void Table::EraseAllExpired() {
  for (uint32_t row = 0; row < slabs_.size();) {
    if (!Expired(row)) {
      ++row;
      continue;
    }
    Erase(row);
    ++counters_.expired;
  }
}

// Sweeps a few rows at each update. Expired rows read as missing whether swept or not; sweeping
// frees the memory of rows that have lapsed.
void Table::SweepSome(size_t at_most) {
  if (spec_.expire_after_examples() == 0) return;
  for (size_t i = 0; i < at_most && slabs_.size() != 0; ++i) SweepNext();
}

// Examines one row, and erases it if it has lapsed. REQUIRES: there is a row.
void Table::SweepNext() {
  if (sweep_next_ >= slabs_.size()) sweep_next_ = 0;
  if (!epochs_.Lapsed(slabs_.at(sweep_next_).touched(), Now())) {
    ++sweep_next_;
    return;
  }
  Erase(sweep_next_);
  ++counters_.expired;
}

}  // namespace capstan
