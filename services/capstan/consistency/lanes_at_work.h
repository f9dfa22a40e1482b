// How many lanes of a trainer may be between their pull and their report. Each of them holds a copy
// of the dense parameters and their gradient. A pure function.
#ifndef CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_
#define CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_

#include <algorithm>
#include <cstdint>

namespace capstan {

// At least two, so that one pulls or pushes while the other is computed; more as long as their
// parameters, of `dense_bytes` each, take no more than 64 MiB altogether.
inline uint64_t LanesAtWork(uint64_t dense_bytes) {
  constexpr uint64_t kFewest = 2;
  constexpr uint64_t kBytes = 64 << 20;
  return std::max(kFewest, kBytes / std::max<uint64_t>(dense_bytes, 1));
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_LANES_AT_WORK_H_
