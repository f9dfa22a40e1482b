// The number of slices in which a network computes a batch. Each slice has its own gradient.
#ifndef CAPSTAN_MODEL_SLICES_H_
#define CAPSTAN_MODEL_SLICES_H_

#include <cstdint>

namespace capstan {

// Returns into how many slices a batch is divided that `step_threads` threads compute together. The
// factor was measured with DeepFM on two threads that share their cores with a shard
// (tests/bench/RESULTS.md).
inline uint32_t SlicesFor(uint32_t step_threads) {
  constexpr uint32_t kSlicesAThread = 2;
  return step_threads <= 1 ? 1 : kSlicesAThread * step_threads;
}

}  // namespace capstan

#endif  // CAPSTAN_MODEL_SLICES_H_
