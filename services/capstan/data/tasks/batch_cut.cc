#include "capstan/data/tasks/batch_cut.h"

#include <algorithm>

#include "capstan/base/divide.h"

namespace capstan {

uint64_t BatchCut::CountOf(uint64_t records) const { return DivideUp(records, size); }

uint64_t BatchCut::BeginOf(uint64_t k, uint64_t records) const {
  const uint64_t remain = records % size;
  const bool shared = shares_end && records > size && remain > 0 && 2 * remain < size;
  if (shared && k + 1 == CountOf(records)) return records - (size + remain) / 2;
  return std::min(k * size, records);
}

}  // namespace capstan
