#include "capstan/store/slab_arena.h"

#include <sys/mman.h>

#include <cstdint>

#include "capstan/base/check.h"
#include "capstan/base/prefetch.h"

namespace capstan {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// This is address space; memory is only taken as pages are first touched.
constexpr size_t kRegionBytes = size_t{64} << 20;

size_t Rounded(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

SlabArena::~SlabArena() {
  for (char* region : regions_) munmap(region, kRegionBytes + kHugePage);
}

void SlabArena::AddRegion() {
  void* const mapped = mmap(nullptr, kRegionBytes + kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CAPSTAN_CHECK(mapped != MAP_FAILED);
  regions_.push_back(static_cast<char*>(mapped));
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  next_ = regions_.back() + (kHugePage - address % kHugePage) % kHugePage;
  left_ = kRegionBytes;
  // If huge pages are switched off, small ones are used.
  madvise(next_, left_, MADV_HUGEPAGE);
}

char* SlabArena::Allocate(size_t bytes) {
  CAPSTAN_CHECK(0 < bytes && bytes <= kMaxSlabBytes);
  bytes = Rounded(bytes);
  absl::MutexLock lock(&mu_);
  if (std::vector<char*>& freed = free_[bytes]; !freed.empty()) {
    char* const slab = freed.back();
    freed.pop_back();
    return slab;
  }
  if (left_ < bytes) AddRegion();
  char* const slab = next_;
  next_ += bytes;
  left_ -= bytes;
  return slab;
}

void SlabArena::Free(char* slab, size_t bytes) {
  absl::MutexLock lock(&mu_);
  free_[Rounded(bytes)].push_back(slab);
}

}  // namespace capstan
