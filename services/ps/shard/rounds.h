// The round commits a shard has been told, shared by the threads that serve its partitions.
#ifndef CAPSTAN_PS_SHARD_ROUNDS_H_
#define CAPSTAN_PS_SHARD_ROUNDS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/closed_log.h"

namespace capstan::ps {

// *Thread-safe*. Its lock may be taken under a partition's.
class Rounds {
 public:
  // Begins anew, where every partition has passed `passed` rounds.
  void Reset(Timeline timeline, uint64_t passed) {
    absl::MutexLock lock(&mu_);
    timeline_ = timeline;
    log_ = ClosedLog(passed);
    last_.store(passed, std::memory_order_release);
  }

  // Takes what a request of this timeline carried; nothing of another one. True: the log has become
  // long, sweep the partitions.
  bool Learn(Timeline timeline, const RoundCommit& set) {
    if (set.round <= last_round()) return false;
    absl::MutexLock lock(&mu_);
    if (timeline != timeline_) return false;
    const bool is_long = log_.Learn(set);
    last_.store(log_.last_round(), std::memory_order_release);
    return is_long;
  }

  // The sets of the rounds after `round`, in order.
  std::vector<RoundCommit> After(uint64_t round) const {
    if (round >= last_round()) return {};
    absl::MutexLock lock(&mu_);
    return log_.After(round);
  }

  // Every partition has passed `round`.
  void Forget(uint64_t round) {
    absl::MutexLock lock(&mu_);
    log_.Forget(round);
  }

  uint64_t last_round() const { return last_.load(std::memory_order_acquire); }

 private:
  mutable absl::Mutex mu_;
  Timeline timeline_ ABSL_GUARDED_BY(mu_){};
  ClosedLog log_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint64_t> last_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_ROUNDS_H_
