// How many bytes of the former state of rows and blocks a shard keeps because they have changed
// while they are being copied, and the limit of that.
#ifndef CAPSTAN_PS_PARTITION_KEPT_BYTES_H_
#define CAPSTAN_PS_PARTITION_KEPT_BYTES_H_

#include <atomic>
#include <cstdint>
#include <limits>

namespace capstan::ps {

// *Thread-safe*.
class KeptBytes {
 public:
  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void SetLimit(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  bool full() const { return bytes() >= limit_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> limit_{std::numeric_limits<int64_t>::max()};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_KEPT_BYTES_H_
