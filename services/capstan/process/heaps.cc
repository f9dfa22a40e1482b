#include "capstan/process/heaps.h"

#include <malloc.h>

#include <algorithm>
#include <thread>

namespace capstan {
namespace {

constexpr uint64_t kMemoryOfAHeap = uint64_t{256} << 20;
constexpr uint64_t kLeastHeaps = 2;
constexpr uint64_t kHeapsACore = 8;  // So many at the most, as without a limit.
constexpr uint64_t kShareKept = 16;  // One part of so many of the memory, but for the bounds.
constexpr uint64_t kLeastKept = uint64_t{1} << 20;
constexpr uint64_t kMostKept = uint64_t{64} << 20;

}  // namespace

int HeapsFor(uint64_t memory_bytes) {
  const uint64_t most = kHeapsACore * std::max(1U, std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp(memory_bytes / kMemoryOfAHeap, kLeastHeaps, most));
}

void LimitHeaps(int heaps) { mallopt(M_ARENA_MAX, heaps); }

size_t KeptBytesFor(uint64_t memory_bytes) {
  return std::clamp(memory_bytes / kShareKept, kLeastKept, kMostKept);
}

void KeepFreeBytes(size_t bytes) {
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(bytes));
  // Smaller blocks lie in heaps, larger ones are mapped each for itself.
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMostKept));
}

}  // namespace capstan
