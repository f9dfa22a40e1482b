// The round commits that a shard has received, shared by the threads that serve its partitions.
#ifndef CAPSTAN_PS_PARTITION_ROUNDS_H_
#define CAPSTAN_PS_PARTITION_ROUNDS_H_

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
  // Returns true if no partition on this shard needs the commits in between: then the next commit
  // may be of any round.
  using IsFree = absl::FunctionRef<bool()>;

  // Called under the lock for each commit that is added, before any other call can see the commit.
  using OnLearned = std::function<void(const RoundCommit&)>;
  explicit Rounds(OnLearned on_learned = nullptr) : on_learned_(std::move(on_learned)) {}

  // Starts over for `timeline`, in which every partition has passed `passed` rounds.
  void Reset(Timeline timeline, uint64_t passed);

  // Adds the commit if it is the next one; ignores it if `timeline` is not the present one. Returns
  // true if the log is long now, so that the caller should make all partitions catch up. Calls
  // `is_free` under the lock.
  bool Learn(Timeline timeline, const RoundCommit& set, IsFree is_free);

  // A partition that has passed the round of `passed` is about to come from another shard: adds
  // `passed`, and keeps all later commits until Unpin (docs/spec, rules 27 and 28). UNAVAILABLE: a
  // commit before `passed` is not known yet; ABORTED: a commit after `passed` is not known any
  // more, or `timeline` is not the present one.
  absl::Status Pin(Timeline timeline, const RoundCommit& passed, IsFree is_free);
  // Ends a Pin(): the partition is loaded and from now on passes rounds by itself, or it does not
  // come.
  void Unpin(Timeline timeline, uint64_t passed);

  // Returns the commits of the rounds after `round`, in order.
  std::vector<RoundCommit> After(uint64_t round) const;
  // Returns the commit of `round`; one without lanes if it is not known any more.
  RoundCommit SetOf(uint64_t round) const;

  // Forgets the commits up to `round`, which every partition has passed, except those that a Pin()
  // keeps.
  void Forget(uint64_t round);
  // Returns true while commits are kept that some partition may not have passed yet.
  bool KeepsAny() const;
  // Calls `call` with the commits that are kept, while no other commit can be added. A replica
  // stream that is begun in the call, and is sent every commit added later, therefore misses none.
  void WithKept(absl::FunctionRef<void(const ClosedLog&)> call) const;

  uint64_t last_round() const { return last_.load(std::memory_order_acquire); }

 private:
  bool LearnLocked(const RoundCommit& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const OnLearned on_learned_;
  mutable absl::Mutex mu_;
  Timeline timeline_ ABSL_GUARDED_BY(mu_){};
  ClosedLog log_ ABSL_GUARDED_BY(mu_);
  // The rounds that the pinned partitions have passed.
  std::multiset<uint64_t> pins_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint64_t> last_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_ROUNDS_H_
