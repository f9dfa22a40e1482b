// A round barrier in a synchronous job: the coordinator stops opening rounds, and every shard is
// brought the last round commit, so that all of them stand at the same round.
#ifndef CAPSTAN_CHIEF_MACHINES_ROUND_BARRIER_H_
#define CAPSTAN_CHIEF_MACHINES_ROUND_BARRIER_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

// Thread-compatible.
class RoundBarrier {
 public:
  enum class State { kNone, kHolding, kCommitting, kReached };

  // Asks for a barrier, unless one is asked for or reached already. While the coordinator has not
  // answered the last release nothing is asked, lest the two overtake each other: call it again.
  void Seek(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls);

  // Others hold what a shard held that is lost: what is asked for or reached is asked for anew, of
  // the coordinator that there is now. `replaced`: it is another one, and may hold rounds back by
  // an order to the one before.
  void AskAnew(uint32_t coordinator, bool replaced, absl::Duration deadline, ShardCalls& calls);

  // The answers to its calls. `shards` are all that hold partitions.
  void OnHeld(const v1::HoldRoundsReply& reply, const std::vector<uint32_t>& shards,
              absl::Duration deadline, ShardCalls& calls);
  // True: the barrier has just been reached.
  bool OnCommitted(const ShardCalls& calls);

  // Lets rounds open again, also those that an earlier chief holds back.
  void Release(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls);

  // The rounds begin anew, at an earlier one: nothing is held, nothing is awaited, and the last
  // round is not known.
  void Reset() {
    state_ = State::kNone;
    held_.Clear();
  }

  State state() const { return state_; }
  bool reached() const { return state_ == State::kReached; }
  // The last one closed, when last asked; 0: not known.
  uint64_t round() const { return held_.last().round(); }
  // What the coordinator said at the last barrier. REQUIRES: reached().
  const v1::HoldRoundsReply& held() const { return held_; }

 private:
  State state_ = State::kNone;
  v1::HoldRoundsReply held_;
  uint64_t orders_ = 0;  // The number of the last hold or release, in this chief's term.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_ROUND_BARRIER_H_
