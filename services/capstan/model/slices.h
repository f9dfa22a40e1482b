// In how many slices a network computes a batch, each with a gradient of its own.
#ifndef CAPSTAN_MODEL_SLICES_H_
#define CAPSTAN_MODEL_SLICES_H_

#include <cstdint>

namespace capstan {

// For a batch that `step_threads` compute together. Measured with DeepFM on two threads that share
// their cores with a shard (tests/bench/RESULTS.md).
inline uint32_t SlicesFor(uint32_t step_threads) {
  constexpr uint32_t kSlicesAThread = 2;
  return step_threads <= 1 ? 1 : kSlicesAThread * step_threads;
}

}  // namespace capstan

#endif  // CAPSTAN_MODEL_SLICES_H_
