// Memory for the slabs of many tables, on huge pages: reading rows at random from 4 KiB pages costs
// more in address translation than in reading. Partitions share it, because a huge page each would
// be more than many of them need.
#ifndef CAPSTAN_STORE_SLAB_ARENA_H_
#define CAPSTAN_STORE_SLAB_ARENA_H_

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Never gives memory back to the system before its end: what is freed waits for the next slab of
// the same size, and a table has one size of slabs. *Thread-safe*.
class SlabArena {
 public:
  SlabArena() = default;
  // REQUIRES: every slab has been freed.
  ~SlabArena();
  SlabArena(const SlabArena&) = delete;
  SlabArena& operator=(const SlabArena&) = delete;

  // Aligned to a cache line, content unspecified. REQUIRES: 0 < bytes <= kMaxSlabBytes.
  char* Allocate(size_t bytes);
  // `bytes` as allocated.
  void Free(char* slab, size_t bytes);

  static constexpr size_t kMaxSlabBytes = size_t{1} << 20;

 private:
  void AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  std::vector<char*> regions_ ABSL_GUARDED_BY(mu_);  // As mapped.
  char* next_ ABSL_GUARDED_BY(mu_) = nullptr;        // What is left of the last one.
  size_t left_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<size_t, std::vector<char*>> free_ ABSL_GUARDED_BY(mu_);  // By size.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_SLAB_ARENA_H_
