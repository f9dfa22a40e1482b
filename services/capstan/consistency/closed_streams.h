// The set of closed streams, kept as intervals: the tasks of an epoch have neighbouring ids, so a
// finished epoch is one interval (the low-water mark), and the present epoch has few.
#ifndef CAPSTAN_CONSISTENCY_CLOSED_STREAMS_H_
#define CAPSTAN_CONSISTENCY_CLOSED_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "capstan/base/ids.h"

namespace capstan {

// Thread-compatible.
class ClosedStreams {
 public:
  bool Contains(StreamId stream) const;
  void Insert(StreamId stream);

  // [first, last] of each run of closed ids, in ascending order. A snapshot contains these.
  using Interval = std::pair<uint64_t, uint64_t>;
  const std::vector<Interval>& intervals() const { return intervals_; }
  static ClosedStreams FromIntervals(std::vector<Interval> intervals);

 private:
  // Index of the first interval which ends at or above `id`.
  size_t Find(uint64_t id) const;

  std::vector<Interval> intervals_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_CLOSED_STREAMS_H_
