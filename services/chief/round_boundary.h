// A round boundary in a synchronous job: the keeper stops opening rounds, and every shard is
// brought the last closed set, so that all of them stand at the same round.
#ifndef CAPSTAN_CHIEF_ROUND_BOUNDARY_H_
#define CAPSTAN_CHIEF_ROUND_BOUNDARY_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/common.pb.h"
#include "chief/shard_calls.h"

namespace capstan::chief {

// Thread-compatible.
class RoundBoundary {
 public:
  enum class State { kNone, kHolding, kCommitting, kReached };

  // Asks for a boundary, unless one is asked for or reached already. While the keeper has not
  // answered the last release nothing is asked, lest the two overtake each other: call it again.
  void Seek(uint32_t keeper, absl::Duration deadline, ShardCalls& calls);

  // The answers to its calls. `shards` are all that hold partitions.
  void OnHeld(const v1::HoldRoundsReply& reply, const std::vector<uint32_t>& shards,
              absl::Duration deadline, ShardCalls& calls);
  void OnCommitted(const ShardCalls& calls);

  // Lets rounds open again. REQUIRES: reached().
  void Release(uint32_t keeper, absl::Duration deadline, ShardCalls& calls);

  State state() const { return state_; }
  bool reached() const { return state_ == State::kReached; }
  uint64_t round() const { return round_; }  // The last one closed, as of the last boundary.

 private:
  State state_ = State::kNone;
  uint64_t round_ = 0;
  uint64_t orders_ = 0;  // Holds and releases so far: the number of the last one.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_ROUND_BOUNDARY_H_
