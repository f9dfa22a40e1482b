#include "capstan/consistency/closed_streams.h"

#include <algorithm>

namespace capstan {

size_t ClosedStreams::Find(uint64_t id) const {
  return static_cast<size_t>(
      std::partition_point(intervals_.begin(), intervals_.end(),
                           [id](const Interval& interval) { return interval.second < id; }) -
      intervals_.begin());
}

bool ClosedStreams::Contains(StreamId stream) const {
  const size_t i = Find(stream.value);
  return i < intervals_.size() && intervals_[i].first <= stream.value;
}

void ClosedStreams::Insert(StreamId stream) {
  const uint64_t id = stream.value;
  const size_t i = Find(id);  // The intervals before i end below id.
  if (i < intervals_.size() && intervals_[i].first <= id) return;
  const bool joins_previous = i > 0 && intervals_[i - 1].second + 1 == id;
  const bool joins_next = i < intervals_.size() && intervals_[i].first == id + 1;
  if (joins_previous && joins_next) {
    intervals_[i - 1].second = intervals_[i].second;
    intervals_.erase(intervals_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  if (joins_previous) {
    intervals_[i - 1].second = id;
    return;
  }
  if (joins_next) {
    intervals_[i].first = id;
    return;
  }
  intervals_.insert(intervals_.begin() + static_cast<std::ptrdiff_t>(i), {id, id});
}

ClosedStreams ClosedStreams::FromIntervals(std::vector<Interval> intervals) {
  ClosedStreams streams;
  streams.intervals_ = std::move(intervals);
  return streams;
}

}  // namespace capstan
