// The position of a segment, such as the linear weights, in the rows of a table.
#ifndef CAPSTAN_MODEL_SEGMENT_H_
#define CAPSTAN_MODEL_SEGMENT_H_

#include <string_view>

#include "capstan/v1/job.pb.h"

namespace capstan {

// In floats. The width is 0 if the table lacks the segment.
struct Segment {
  int offset = 0;
  int width = 0;
};

inline Segment SegmentOf(const v1::TableSpec& table, std::string_view name) {
  for (const v1::TableSegment& segment : table.segments()) {
    if (segment.name() != name) continue;
    return {static_cast<int>(segment.offset()), static_cast<int>(segment.width())};
  }
  return {};
}

}  // namespace capstan

#endif  // CAPSTAN_MODEL_SEGMENT_H_
