// Limits the memory of one use, such as replies that clients have not read yet, or gradients that
// wait for the end of their round. MemoryBudget has a ByteBudget for each use.
#ifndef CAPSTAN_PS_PARTITION_BYTE_BUDGET_H_
#define CAPSTAN_PS_PARTITION_BYTE_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>

namespace capstan::ps {

// Counts the bytes of all existing Holds. *Thread-safe*.
class ByteBudget {
 public:
  explicit ByteBudget(size_t limit = std::numeric_limits<size_t>::max()) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Counts `bytes` until the Hold is destroyed. A Hold may outlive the budget, as a message that
  // waits to be sent outlives its shard. Returns null if the bytes would exceed the limit.
  class Hold;
  std::unique_ptr<Hold> TryHold(size_t bytes);
  // Counts `bytes` even if they exceed the limit.
  std::unique_ptr<Hold> HoldAnyway(size_t bytes);

  // Sets the limit for later holds; existing ones stay.
  void SetLimit(size_t limit) { limit_.store(limit, std::memory_order_relaxed); }

  size_t held() const { return held_->load(std::memory_order_relaxed); }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  std::atomic<size_t> limit_;
  const std::shared_ptr<std::atomic<size_t>> held_ = std::make_shared<std::atomic<size_t>>(0);
};

class ByteBudget::Hold {
 public:
  Hold(const ByteBudget& budget, size_t bytes) : held_(budget.held_), bytes_(bytes) {}
  ~Hold() { held_->fetch_sub(bytes_, std::memory_order_relaxed); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const std::shared_ptr<std::atomic<size_t>> held_;
  const size_t bytes_;
};

inline std::unique_ptr<ByteBudget::Hold> ByteBudget::HoldAnyway(size_t bytes) {
  held_->fetch_add(bytes, std::memory_order_relaxed);
  return std::make_unique<Hold>(*this, bytes);
}

inline std::unique_ptr<ByteBudget::Hold> ByteBudget::TryHold(size_t bytes) {
  auto hold = std::make_unique<Hold>(*this, bytes);
  if (held_->fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit()) return hold;
  return nullptr;  // The destructor of `hold` takes the bytes off again.
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_BYTE_BUDGET_H_
