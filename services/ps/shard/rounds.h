// The round commits a shard has been told, shared by the threads that serve its partitions.
#ifndef CAPSTAN_PS_SHARD_ROUNDS_H_
#define CAPSTAN_PS_SHARD_ROUNDS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/closed_log.h"

namespace capstan::ps {

// *Thread-safe*. Its lock may be taken under a partition's.
class Rounds {
 public:
  // Says whether no partition needs the commits in between: then any may be the next one.
  using IsFree = absl::FunctionRef<bool()>;

  // Called under the lock for each round that is learned, before anybody can see it.
  using OnLearned = std::function<void(const RoundCommit&)>;
  explicit Rounds(OnLearned on_learned = nullptr) : on_learned_(std::move(on_learned)) {}

  // Begins anew, where every partition has passed `passed` rounds.
  void Reset(Timeline timeline, uint64_t passed);

  // Takes what a request of this timeline carried; nothing of another one. True: the log has become
  // long, sweep the partitions. `is_free` is asked under the lock.
  bool Learn(Timeline timeline, const RoundCommit& set, IsFree is_free);

  // A partition is about to come that has passed `passed`: it is learned, and what comes after it
  // is kept until Unpin (docs/spec, rules 27 and 28). UNAVAILABLE: a round before it is not known
  // yet; ABORTED: one after it is not known any more, or it is of another timeline.
  absl::Status Pin(Timeline timeline, const RoundCommit& passed, IsFree is_free);
  // It has come, and counts itself; or it will not.
  void Unpin(Timeline timeline, uint64_t passed);

  // The sets of the rounds after `round`, in order.
  std::vector<RoundCommit> After(uint64_t round) const;
  // The set of a round; without lanes if it is not known any more.
  RoundCommit SetOf(uint64_t round) const;

  // Every partition has passed `round`.
  void Forget(uint64_t round);
  // Whether some are not forgotten, which a partition may have to pass yet.
  bool KeepsAny() const;
  // Calls with those. None is learned meanwhile: who is told of these, and of what is learned from
  // then on, misses none.
  void WithKept(absl::FunctionRef<void(const ClosedLog&)> call) const;

  uint64_t last_round() const { return last_.load(std::memory_order_acquire); }

 private:
  bool LearnLocked(const RoundCommit& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const OnLearned on_learned_;
  mutable absl::Mutex mu_;
  Timeline timeline_ ABSL_GUARDED_BY(mu_){};
  ClosedLog log_ ABSL_GUARDED_BY(mu_);
  std::multiset<uint64_t> pins_ ABSL_GUARDED_BY(mu_);  // Rounds passed.
  std::atomic<uint64_t> last_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_ROUNDS_H_
