// Numbers of FORMAT.md that writer and reader share.
#ifndef CAPSTAN_CHECKPOINT_CONTENT_H_
#define CAPSTAN_CHECKPOINT_CONTENT_H_

#include <cstddef>
#include <cstdint>

namespace capstan {

enum class Content : uint32_t { kFull = 1, kDelta = 2 };

// A row without its state: key, frequency, touched_examples.
inline constexpr size_t kRowFrontBytes = 8 + 4 + 8;
inline constexpr size_t kCandidateBytes = 8 + 4;

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CONTENT_H_
