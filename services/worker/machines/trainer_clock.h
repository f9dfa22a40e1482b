// The clock of one trainer under ssp: which of its steps each shard has finished, and what each
// shard has been told of it. Shared by the runners of the trainer's leases, which follow one
// another and overlap.
#ifndef CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_
#define CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "capstan/base/ids.h"

namespace capstan::worker {

// Steps are counted absolutely: a trainer that joins begins at the start_clock that the chief
// gives. In synchronous rounds step r - 1 is round r. A trainer that holds several lanes counts it
// as finished at a shard with the first lane's push: nobody runs ahead of the others by that, for
// the next round opens when all of them are in, or without them. Confined to the trainer's event
// loop.
class TrainerClock {
 public:
  explicit TrainerClock(uint64_t start_clock = 0) : floor_(start_clock), next_(start_clock) {}

  // The trainer's next step begins. Its number; pulls for it carry it.
  uint64_t BeginStep() { return next_++; }

  // The step is over everywhere: settled, or given up.
  void Over(uint64_t step);

  // All steps below `clock` are over: a later round has opened, or a lease begins later.
  void AdvanceTo(uint64_t clock);

  // The clock that a push of `step` to `shard` carries: once it is carried out, all steps below are
  // finished there.
  uint64_t ClockOfPush(ShardIndex shard, uint64_t step) const;

  // `shard` has carried out a push of `step`, which told it `told`.
  void Finished(ShardIndex shard, uint64_t step, uint64_t told);

  // Steps finished at `shard`; whether it has been told less, and so needs a push of nothing.
  uint64_t ClockOf(ShardIndex shard) const;
  bool Behind(ShardIndex shard) const;
  void Told(ShardIndex shard, uint64_t clock);
  void ToldNothing(ShardIndex shard);  // It may have forgotten: a new incarnation, or a long wait.

  // Partitions have moved: what a shard has finished of the steps under way is not all that it has
  // to finish now, and what it was told does not hold for what has come to it.
  void FinishAgain();

  // Steps over everywhere: what heartbeats report.
  uint64_t clock() const { return floor_; }
  std::string DebugString() const;

 private:
  struct ShardClock {
    std::set<uint64_t> finished;  // At or above the floor; at most the steps under way.
    uint64_t told = 0;
  };
  uint64_t Prefix(const ShardClock* clock, uint64_t and_step) const;
  void RaiseFloor();

  uint64_t floor_;  // All steps below are over.
  uint64_t next_;
  std::set<uint64_t> over_;  // Above the floor.
  std::map<ShardIndex, ShardClock> shards_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_TRAINER_CLOCK_H_
