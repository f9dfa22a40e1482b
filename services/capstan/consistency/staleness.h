// Staleness, and how it is counted: the number of updates of a gradient's parameters between their
// pull and its application.
#ifndef CAPSTAN_CONSISTENCY_STALENESS_H_
#define CAPSTAN_CONSISTENCY_STALENESS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// The buckets of histograms: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15 ... The last one has no upper bound.
inline constexpr size_t kStalenessBuckets = 40;
[[nodiscard]] size_t StalenessBucket(uint64_t staleness);
// Returns the lowest value of a bucket.
[[nodiscard]] uint64_t StalenessBucketFloor(size_t bucket);
// Returns the median staleness of a histogram, as precise as its buckets; 0 if it is empty.
// `Counts` is a sized container.
template <typename Counts>
[[nodiscard]] uint64_t StalenessMedian(const Counts& counts) {
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  uint64_t below = 0;
  size_t bucket = 0;
  for (const uint64_t count : counts) {
    below += count;
    if (total > 0 && 2 * below >= total) return StalenessBucketFloor(bucket);
    ++bucket;
  }
  return 0;
}

// A histogram of the staleness of many gradients. Thread-compatible.
struct StalenessCounts {
  void Add(uint64_t staleness);

  std::array<uint64_t, kStalenessBuckets> counts{};
  uint64_t max = 0;
  bool empty = true;
};

// ---- of rows ----

// Identifies the state of a row that a pull has read: computed from how many updates the row has
// had and how often the key's row was created again. Clients send in pushes what they got in pulls.
enum class RowVersion : uint32_t { kNoRow = 0 };

// Returns true if the gradient of a row is judged by the updates of that row alone, and not by
// those of other rows of the partition. If false, rows have no versions.
[[nodiscard]] bool CountsRowUpdates(const v1::UpdatePolicy& sparse);

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_STALENESS_H_
