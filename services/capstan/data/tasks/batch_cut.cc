#include "capstan/data/tasks/batch_cut.h"

#include <algorithm>

#include "capstan/base/divide.h"

namespace capstan {

uint64_t BatchCut::CountOf(uint64_t records) const { return DivideUp(records, size); }

uint64_t BatchCut::BeginOf(uint64_t k, uint64_t records) const {
  const bool shared = shares_end && size > 1 && records > size && records % size == 1;
  if (shared && k + 1 == CountOf(records)) return records - (uint64_t{size} + 1) / 2;
  return std::min(k * size, records);
}

}  // namespace capstan
