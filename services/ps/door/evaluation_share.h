// Limits the threads of a shard that evaluation pulls may use while other calls wait for a thread.
#ifndef CAPSTAN_PS_DOOR_EVALUATION_SHARE_H_
#define CAPSTAN_PS_DOOR_EVALUATION_SHARE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace capstan::ps {

// Counts the evaluation pulls that are being carried out. *Thread-safe*.
class EvaluationShare {
 public:
  // While at most this many calls wait for a thread, evaluation has no limit.
  static constexpr int64_t kFewWaiting = 16;

  // `threads`: how many threads carry out calls. Evaluation gets at most half of them, but at least
  // one.
  explicit EvaluationShare(int threads = static_cast<int>(std::thread::hardware_concurrency()))
      : limit_(std::max(1, threads / 2)) {}
  EvaluationShare(const EvaluationShare&) = delete;
  EvaluationShare& operator=(const EvaluationShare&) = delete;

  // An evaluation pull counts as being carried out until its Turn is destroyed. The share must
  // outlive it.
  class Turn {
   public:
    explicit Turn(std::atomic<int>& at_work) : at_work_(at_work) {}
    ~Turn() { at_work_.fetch_sub(1, std::memory_order_relaxed); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<int>& at_work_;
  };

  // Asks to carry out an evaluation pull while `waiting` calls wait for a thread. Returns null if
  // the pull has to be retried later.
  std::unique_ptr<Turn> Begin(int64_t waiting) {
    const int before = at_work_.fetch_add(1, std::memory_order_relaxed);
    auto turn = std::make_unique<Turn>(at_work_);
    if (waiting <= kFewWaiting || before < limit_) return turn;
    return nullptr;
  }

 private:
  const int limit_;
  std::atomic<int> at_work_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_EVALUATION_SHARE_H_
