// Which lanes of a trainer are between their pull and their report. Every one of them holds a copy
// of the dense parameters and their gradient, so with large models it is some lanes at a time, and
// the others wait for their turn.
#ifndef CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_
#define CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/functional/any_invocable.h"
#include "capstan/base/ids.h"

namespace capstan::worker {

// Who has a lane is named by an address. Thread-compatible.
class LaneTurns {
 public:
  enum class Order {
    kOfAsking,
    // In each round a lane's turn comes after those of all lower lanes that have joined. Shards add
    // gradients in the order of the lanes, hold what comes before its turn, and where they are full
    // take in the lowest lane alone that is still to come (docs/spec, rule 21). A lane below all of
    // those at work never waits for them, who may be waiting for it: it may have joined late.
    kOfLanes,
  };
  // As many lanes at a time as LanesAtWork says.
  LaneTurns(uint64_t dense_bytes, Order order);

  // The lane is held from now on, until Leave().
  void Join(const void* who, LaneIndex lane);
  void Leave(const void* who);

  // Calls begin() when it is their turn: at once, or from a later call of anybody's. REQUIRES: they
  // have joined, and asked for none since their last End().
  void Ask(const void* who, uint64_t round, absl::AnyInvocable<void()> begin);
  // They take no turn in this round, nor in those before it: another runner of the lane has.
  // Nothing happens if they have left.
  void Pass(const void* who, uint64_t round);
  // Their turn is over, or they do not wait for one any longer. Nothing happens if neither was so.
  void End(const void* who);

 private:
  struct Lane {
    LaneIndex lane{};
    uint64_t had = 0;  // The latest round in which it has had its turn, or passed it.
    bool at_work = false;
    uint64_t asked = 0;  // The number of its question; 0: it does not wait.
    uint64_t round = 0;  // That it waits for.
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
