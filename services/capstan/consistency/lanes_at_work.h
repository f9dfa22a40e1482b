// How many lanes of a trainer may be between their pull and their report at the same time. Each of
// them holds a copy of the dense parameters and a gradient of these. A pure function.
#ifndef CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_
#define CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_

#include <algorithm>
#include <cstdint>

namespace capstan {

// Returns at least two, so that one lane pulls or pushes while another is computed; and up to four
// as long as the parameters of all of them, `dense_bytes` each, take no more than 64 MiB. Four hide
// pulls and pushes that take three times as long as the computation of a lane. Each lane also holds
// the rows of its batch, their gradients and the messages with both.
inline uint64_t LanesAtWork(uint64_t dense_bytes) {
  constexpr uint64_t kFewest = 2;
  constexpr uint64_t kMost = 4;
  constexpr uint64_t kBytes = 64 << 20;
  return std::clamp(kBytes / std::max<uint64_t>(dense_bytes, 1), kFewest, kMost);
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_
