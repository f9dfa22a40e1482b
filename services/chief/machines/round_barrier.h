// A round barrier in a synchronous job: the coordinator stops opening rounds, and every shard gets
// the last round commit, so that all shards stand at the same round.
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

  // Asks the coordinator for a barrier, unless one is asked for or reached already. Does nothing
  // while a release has not been answered, as the two calls might overtake each other: the caller
  // must call Seek again until the barrier is reached.
  void Seek(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls);

  // Backups have taken over from a lost shard: a barrier that was asked for or reached is asked for
  // again, of the present `coordinator`. `replaced` says that this is another shard than before. It
  // may hold rounds back by an order that its predecessor has received; if no barrier is wanted, it
  // is released.
  void AskAnew(uint32_t coordinator, bool replaced, absl::Duration deadline, ShardCalls& calls);

  // Takes in the coordinator's answer. After a release there is nothing to do. After a hold no
  // round opens any more: sends the last round commit to `shards`, which are all that own
  // partitions.
  void OnHeld(const v1::HoldRoundsReply& reply, const std::vector<uint32_t>& shards,
              absl::Duration deadline, ShardCalls& calls);
  // Returns true, once, when every shard has answered: the barrier is reached.
  bool OnCommitted(const ShardCalls& calls);

  // Lets rounds open again, even if an earlier chief held them back.
  void Release(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls);

  // The job has returned to an earlier round: no barrier is asked for or reached, and the last
  // round is not known.
  void Reset() {
    state_ = State::kNone;
    held_.Clear();
  }

  State state() const { return state_; }
  bool reached() const { return state_ == State::kReached; }
  // The last closed round that the coordinator has reported; 0: not known.
  uint64_t round() const { return held_.last().round(); }
  // The coordinator's answer at the last barrier. REQUIRES: reached().
  const v1::HoldRoundsReply& held() const { return held_; }

 private:
  State state_ = State::kNone;
  v1::HoldRoundsReply held_;
  uint64_t orders_ = 0;  // The number of the last hold or release, in this chief's term.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_ROUND_BARRIER_H_
