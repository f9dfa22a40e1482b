// The round commits that a shard has been told and that not all of its partitions have passed.
#ifndef CAPSTAN_PS_MACHINES_CLOSED_LOG_H_
#define CAPSTAN_PS_MACHINES_CLOSED_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "capstan/consistency/round_commit.h"

namespace capstan::ps {

// A lane stages on every shard before it is counted, so each closed round's requests reached this
// shard and carried the set before: the log has no gaps. A partition that no push touches falls
// behind; when the log is long, the shard makes all of them catch up
// (Partition::CatchUp(log.After(...)), then Forget). Thread-compatible: one a shard, under a mutex
// of its own.
class ClosedLog {
 public:
  static constexpr size_t kLong = 32;  // Sets above which the shard should sweep its partitions.

  // `passed`: rounds that every partition has passed already.
  explicit ClosedLog(uint64_t passed = 0) : base_(passed) {}
  // Also knows the last one of these rounds.
  explicit ClosedLog(const RoundCommit& passed) : base_(passed.round), newest_(passed) {}

  // Takes what a request carried. Known sets and such that are not next in line are ignored. Says
  // whether the log is long now.
  bool Learn(const RoundCommit& set);

  // The sets of the rounds after `round`, in order.
  std::vector<RoundCommit> After(uint64_t round) const;

  // Every partition has passed `round`.
  void Forget(uint64_t round);

  bool empty() const { return sets_.empty(); }  // All are forgotten.
  uint64_t last_round() const { return base_ + sets_.size(); }
  // Whether a partition that has passed `round` can pass the next ones.
  bool Follows(uint64_t round) const { return base_ <= round && round <= last_round(); }
  // The set of the round; without lanes if it is not known any more.
  RoundCommit SetOf(uint64_t round) const;

 private:
  uint64_t base_;  // Rounds forgotten.
  std::deque<RoundCommit> sets_;
  RoundCommit newest_;  // The newest round learned, also after the log has forgotten it.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_CLOSED_LOG_H_
