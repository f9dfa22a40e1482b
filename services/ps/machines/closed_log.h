// The round commits that a shard has received and that not all of its partitions have passed.
#ifndef CAPSTAN_PS_MACHINES_CLOSED_LOG_H_
#define CAPSTAN_PS_MACHINES_CLOSED_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "capstan/consistency/round_commit.h"

namespace capstan::ps {

// A lane stages its gradient on every shard before it is counted, so requests of each closed round
// have reached this shard. It accepts none of them without the commit of the round before, so the
// log has no gaps.
//
// A partition that no push changes falls behind. When the log is long, the shard makes all of its
// partitions catch up (Partition::CatchUp), and then calls Forget. A shard has one log, under a
// mutex. Thread-compatible.
class ClosedLog {
 public:
  // The log is long when it has this many commits: the shard should make its partitions catch up.
  static constexpr size_t kLong = 32;

  // `passed`: the number of rounds that every partition has passed already.
  explicit ClosedLog(uint64_t passed = 0) : base_(passed) {}
  // The same, and also keeps the commit of the last of these rounds.
  explicit ClosedLog(const RoundCommit& passed) : base_(passed.round), newest_(passed) {}

  // Adds a round commit if it is the next one after last_round(), and ignores any other. Returns
  // true if the log is long (kLong) now.
  bool Learn(const RoundCommit& set);

  // Returns the commits of the rounds after `round` that the log keeps, in order.
  std::vector<RoundCommit> After(uint64_t round) const;

  // Forgets the commits up to `round`, which every partition has passed.
  void Forget(uint64_t round);

  bool empty() const { return sets_.empty(); }
  uint64_t last_round() const { return base_ + sets_.size(); }
  // Returns true if the log keeps all commits after `round`, and `round` is not after last_round().
  bool Follows(uint64_t round) const { return base_ <= round && round <= last_round(); }
  // Returns the commit of `round`; one without lanes if the commit is not known (any more).
  RoundCommit SetOf(uint64_t round) const;

 private:
  uint64_t base_;  // The last round whose commit was forgotten.
  std::deque<RoundCommit> sets_;
  RoundCommit newest_;  // The newest commit, even after the log has forgotten it.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_CLOSED_LOG_H_
