#include "capstan/consistency/staleness.h"

#include <algorithm>
#include <bit>

#include "capstan/consistency/decisions.h"

namespace capstan {

size_t StalenessBucket(uint64_t staleness) {
  if (staleness < 4) return static_cast<size_t>(staleness);
  const auto power = static_cast<size_t>(std::bit_width(staleness)) - 1;  // At least 2.
  return std::min(2 * power + (staleness >> (power - 1) & 1), kStalenessBuckets - 1);
}

uint64_t StalenessBucketFloor(size_t bucket) {
  if (bucket < 4) return bucket;
  const uint64_t power = uint64_t{1} << (bucket / 2);
  return bucket % 2 == 0 ? power : power + power / 2;
}

void StalenessCounts::Add(uint64_t staleness) {
  ++counts[StalenessBucket(staleness)];
  max = std::max(max, staleness);
  empty = false;
}

bool CountsRowUpdates(const v1::UpdatePolicy& sparse) {
  return !IsSync(sparse) && (sparse.stale_gradients() == v1::STALE_GRADIENTS_SCALE ||
                             sparse.stale_gradients() == v1::STALE_GRADIENTS_DROP);
}

}  // namespace capstan
