// Numbers of FORMAT.md that the writer and the reader share.
#ifndef CAPSTAN_CHECKPOINT_CONTENT_H_
#define CAPSTAN_CHECKPOINT_CONTENT_H_

#include <cstddef>
#include <cstdint>

namespace capstan {

// The last two are for a partition that moves to another shard: their rows have versions.
enum class Content : uint32_t { kFull = 1, kDelta = 2, kMovedFull = 3, kMovedDelta = 4 };

inline bool IsDelta(Content content) {
  return content == Content::kDelta || content == Content::kMovedDelta;
}
inline bool IsMoved(Content content) {
  return content == Content::kMovedFull || content == Content::kMovedDelta;
}

// A row without its state: key, frequency, touched_examples.
inline constexpr size_t kRowFrontBytes = 8 + 4 + 8;
inline constexpr size_t kRowVersionBytes = 4;  // Follows these for a row of a moving partition.
inline constexpr size_t kCandidateBytes = 8 + 4;

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CONTENT_H_
