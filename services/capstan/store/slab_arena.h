// Memory for the slabs of many tables, on huge pages: with 4 KiB pages, reading random rows costs
// more in address translation than in reading. All partitions share one arena, because a huge page
// of its own would be more than many partitions need.
#ifndef CAPSTAN_STORE_SLAB_ARENA_H_
#define CAPSTAN_STORE_SLAB_ARENA_H_

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Returns memory to the system only when it is destroyed: a freed slab is kept for the next
// Allocate() of the same size, and tables use few sizes. *Thread-safe*.
class SlabArena {
 public:
  SlabArena() = default;
  // REQUIRES: every slab has been freed.
  ~SlabArena();
  SlabArena(const SlabArena&) = delete;
  SlabArena& operator=(const SlabArena&) = delete;

  // Returns a slab that is aligned to a cache line, with unspecified content. REQUIRES: 0 < bytes
  // <= kMaxSlabBytes.
  char* Allocate(size_t bytes);
  // `bytes`: the size with which it was allocated.
  void Free(char* slab, size_t bytes);

  static constexpr size_t kMaxSlabBytes = size_t{1} << 20;

 private:
  void AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  std::vector<char*> regions_ ABSL_GUARDED_BY(mu_);  // The mapped regions.
  char* next_ ABSL_GUARDED_BY(mu_) = nullptr;        // The unused rest of the last region.
  size_t left_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<size_t, std::vector<char*>> free_ ABSL_GUARDED_BY(mu_);  // By size.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_SLAB_ARENA_H_
