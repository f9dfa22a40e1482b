// Which lanes of a trainer are between their pull and their report. Each of these lanes holds a
// copy of the dense parameters and a gradient of them, and of the rows of its batch. So only some
// lanes work at a time, fewer with large models, and the others wait for their turn.
#ifndef CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_
#define CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/functional/any_invocable.h"
#include "capstan/base/ids.h"

namespace capstan::worker {

// `who`, an address, names the holder of a lane. Thread-compatible.
class LaneTurns {
 public:
  enum class Order {
    kOfAsking,
    // In each round a lane's turn comes after the turns of all lower lanes that have joined. Shards
    // add gradients in the order of the lanes, hold a gradient that comes before its turn, and when
    // they are full take in only the lowest lane that is still missing (docs/spec, rule 21). A lane
    // that is lower than all lanes at work begins even when these are as many as may work: they may
    // be waiting for its gradient, as it may have joined late.
    kOfLanes,
  };
  // At most LanesAtWork(dense_bytes) lanes work at a time.
  LaneTurns(uint64_t dense_bytes, Order order);

  // `who` holds `lane` from now on, until Leave().
  void Join(const void* who, LaneIndex lane);
  void Leave(const void* who);

  // Calls begin() when the turn of `who` comes: within this call, or within a later call of any
  // holder. REQUIRES: `who` has joined, and has not asked since its last End().
  void Ask(const void* who, uint64_t round, absl::AnyInvocable<void()> begin);
  // Nobody has to wait for a turn of `who` in `round`, nor in rounds before it: it has reported, or
  // another runner of the lane has taken it. Does nothing if `who` has left.
  void Pass(const void* who, uint64_t round);
  // Ends the turn of `who`, or its waiting for one. Does nothing if it has neither.
  void End(const void* who);

 private:
  struct Lane {
    LaneIndex lane{};
    uint64_t had = 0;  // The latest round in which the lane had its turn, or passed it.
    bool at_work = false;
    uint64_t asked = 0;  // The number of the lane's Ask(); 0: it does not wait.
    uint64_t round = 0;  // The round whose turn the lane waits for.
    absl::AnyInvocable<void()> begin;
  };
  using Lanes = std::map<const void*, Lane>;

  void BeginNext();
  Lanes::iterator Next();
  bool MayBegin(const Lane& next) const;

  const uint64_t most_;
  const Order order_;
  Lanes lanes_;
  size_t at_work_ = 0;
  uint64_t questions_ = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_
