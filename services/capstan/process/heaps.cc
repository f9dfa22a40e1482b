#include "capstan/process/heaps.h"

#include <malloc.h>

#include <algorithm>
#include <thread>

namespace capstan {
namespace {

constexpr uint64_t kMemoryOfAHeap = uint64_t{256} << 20;
constexpr uint64_t kLeastHeaps = 2;
// The most heaps for each core, as many as glibc makes without a limit.
constexpr uint64_t kHeapsACore = 8;
constexpr uint64_t kShareKept = 16;  // A heap keeps this fraction of the memory, within the limits.
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
  // Smaller blocks are in heaps; each larger block is mapped separately.
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMostKept));
}

}  // namespace capstan
