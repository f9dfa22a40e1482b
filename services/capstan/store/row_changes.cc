#include "capstan/store/row_changes.h"

#include "capstan/base/check.h"

namespace capstan {

void RowChanges::Append() {
  if (size_ % kBits == 0) words_.emplace_back();
  ++size_;
}

void RowChanges::Remove(uint32_t row) {
  const uint32_t last = --size_;
  for (uint64_t Word::*const bits : {&Word::fresh, &Word::marked}) {
    uint64_t& from = words_[last / kBits].*bits;
    uint64_t& to = words_[row / kBits].*bits;
    to = (from & Bit(last)) != 0 ? to | Bit(row) : to & ~Bit(row);
    from &= ~Bit(last);
  }
  if (last % kBits == 0) words_.pop_back();
}

void RowChanges::Mark() {
  for (Word& word : words_) {
    CAPSTAN_CHECK(word.marked == 0);
    word = {.fresh = 0, .marked = word.fresh};
  }
}

void RowChanges::Settle(bool safe) {
  for (Word& word : words_) word = {.fresh = safe ? word.fresh : word.fresh | word.marked};
}

}  // namespace capstan
