// Bounds the replies that wait for clients who do not read them.
#ifndef CAPSTAN_PS_REPLY_BUDGET_H_
#define CAPSTAN_PS_REPLY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <memory>

namespace capstan::ps {

// Counts the bytes of replies from when they are made until the client has taken them, or is gone.
// *Thread-safe*.
class ReplyBudget {
 public:
  explicit ReplyBudget(size_t limit) : limit_(limit) {}
  ReplyBudget(const ReplyBudget&) = delete;
  ReplyBudget& operator=(const ReplyBudget&) = delete;

  // The bytes count until it is destroyed, before the budget. Null: they would be above the limit.
  class Hold;
  std::unique_ptr<Hold> TryHold(size_t bytes);

  size_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  const size_t limit_;
  std::atomic<size_t> held_{0};
};

class ReplyBudget::Hold {
 public:
  Hold(ReplyBudget& budget, size_t bytes) : budget_(budget), bytes_(bytes) {}
  ~Hold() { budget_.held_.fetch_sub(bytes_, std::memory_order_relaxed); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  ReplyBudget& budget_;
  const size_t bytes_;
};

inline std::unique_ptr<ReplyBudget::Hold> ReplyBudget::TryHold(size_t bytes) {
  auto hold = std::make_unique<Hold>(*this, bytes);
  if (held_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return hold;
  return nullptr;  // What was added goes with the hold.
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_REPLY_BUDGET_H_
