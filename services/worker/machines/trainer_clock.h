// The clock of one trainer under ssp: which of its steps are finished at each shard, and which
// clock each shard has been told. The runners of the trainer's leases, which follow one another and
// overlap, share it.
#ifndef CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_
#define CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "capstan/base/ids.h"

namespace capstan::worker {

// Steps are counted absolutely: a trainer that joins begins at the start_clock that the chief
// gives. In synchronous rounds step r - 1 is round r. When a trainer holds several lanes, the first
// lane's push to a shard counts the step as finished there. Nobody runs ahead of the other lanes by
// that: the next round opens only when all of them are in, or without them. Confined to the
// trainer's event loop.
class TrainerClock {
 public:
  explicit TrainerClock(uint64_t start_clock = 0) : floor_(start_clock), next_(start_clock) {}

  // Begins the trainer's next step and returns its number, which the pulls for it carry.
  uint64_t BeginStep() { return next_++; }

  // `step` is over at every shard: settled, or given up.
  void Over(uint64_t step);

  // Returns how many steps have begun and are not over, of all runners of the trainer.
  uint64_t open_steps() const { return next_ - steps_over(); }
  // Returns how many steps are over. Rises with each of them, whoever began it.
  uint64_t steps_over() const { return floor_ + over_.size(); }

  // All steps below `clock` are over, because a later round has opened or a lease begins later.
  void AdvanceTo(uint64_t clock);

  // Returns the clock that a push of `step` to `shard` carries: once the shard has carried out that
  // push, all steps below the clock are finished there.
  uint64_t ClockOfPush(ShardIndex shard, uint64_t step) const;

  // `shard` has carried out a push of `step`, which carried the clock `told`.
  void Finished(ShardIndex shard, uint64_t step, uint64_t told);

  // Returns how many steps are finished at `shard`; and whether it has been told fewer, so that it
  // needs a push that carries only the clock.
  uint64_t ClockOf(ShardIndex shard) const;
  bool Behind(ShardIndex shard) const;
  void Told(ShardIndex shard, uint64_t clock);
  void ToldNothing(ShardIndex shard);  // The shard may have forgotten what it was told.

  // Partitions have moved. A shard that finished a step may now own partitions for which it has
  // not, and what it was told does not hold for these: forgets all of that, so that it is told
  // again.
  void FinishAgain();

  // How many steps are over at every shard; heartbeats report this.
  uint64_t clock() const { return floor_; }
  std::string DebugString() const;

 private:
  struct ShardClock {
    std::set<uint64_t> finished;  // Steps at or above floor_; at most the steps under way.
    uint64_t told = 0;
  };
  uint64_t Prefix(const ShardClock* clock, uint64_t and_step) const;
  void RaiseFloor();

  uint64_t floor_;  // All steps below are over.
  uint64_t next_;
  std::set<uint64_t> over_;  // Steps above floor_ that are over.
  std::map<ShardIndex, ShardClock> shards_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_
