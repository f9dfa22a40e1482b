#include "capstan/store/row_index.h"

#include "capstan/base/check.h"

namespace capstan {

void RowIndex::Insert(uint32_t tag, uint32_t row) {
  CAPSTAN_CHECK(row <= kMaxRows);
  if ((size_ + 1) * 4 > entries_.size() * 3) Grow();
  size_t i = Home(tag);
  while (entries_[i] != 0) i = Next(i);
  entries_[i] = Entry(tag, row);
  ++size_;
}

// Leaves no tombstones: entries after the hole move up, but not before their home.
void RowIndex::Erase(uint32_t tag, uint32_t row) {
  size_t hole = PlaceOf(tag, row);
  const size_t capacity = entries_.size();
  for (size_t i = Next(hole); entries_[i] != 0; i = Next(i)) {
    const size_t from_home = (i + capacity - Home(TagIn(entries_[i]))) % capacity;
    const size_t from_hole = (i + capacity - hole) % capacity;
    if (from_home < from_hole) continue;
    entries_[hole] = entries_[i];
    hole = i;
  }
  entries_[hole] = 0;
  --size_;
}

void RowIndex::Renumber(uint32_t tag, uint32_t from, uint32_t to) {
  entries_[PlaceOf(tag, from)] = Entry(tag, to);
}

size_t RowIndex::PlaceOf(uint32_t tag, uint32_t row) const {
  size_t i = Home(tag);
  while (entries_[i] != Entry(tag, row)) {
    CAPSTAN_CHECK(entries_[i] != 0);
    i = Next(i);
  }
  return i;
}

// Grows by half: then between 1/2 and 3/4 of the entries are in use, so a row costs 11 to 16 bytes
// here.
void RowIndex::Grow() {
  std::vector<uint64_t> old(entries_.size() + entries_.size() / 2);
  old.swap(entries_);
  for (uint64_t entry : old) {
    if (entry == 0) continue;
    size_t i = Home(TagIn(entry));
    while (entries_[i] != 0) i = Next(i);
    entries_[i] = entry;
  }
}

}  // namespace capstan
