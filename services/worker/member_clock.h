// The clock of one member under ssp: which of its steps each shard has finished, and what each
// shard has been told of it. Shared by the holders of the member's leases, which follow one another
// and overlap.
#ifndef CAPSTAN_WORKER_MEMBER_CLOCK_H_
#define CAPSTAN_WORKER_MEMBER_CLOCK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "capstan/base/ids.h"

namespace capstan::worker {

// Steps are counted absolutely: a member that joins begins at the start_clock that the chief gives.
// Confined to the member's event loop.
class MemberClock {
 public:
  explicit MemberClock(uint64_t start_clock = 0);

  // The member's next step begins. Its number; pulls for it carry it.
  uint64_t BeginStep() { return next_++; }

  // The clock that a push of `step` to `shard` carries: the steps below it are finished there once
  // the push is.
  uint64_t ClockOfPush(ShardIndex shard, uint64_t step) const;

  // `shard` has carried out a push of `step`, which told it `told`.
  void Finished(ShardIndex shard, uint64_t step, uint64_t told);

  // The step is over without a push: its batch was given back.
  void Abandoned(uint64_t step);

  // All steps below `clock` are over: a lane's round has opened, or a lease begins later.
  void AdvanceTo(uint64_t clock);

  // Whether `shard` has been told less than is true: it then needs a push of nothing, carrying
  // ClockOf(shard).
  bool Behind(ShardIndex shard) const;
  uint64_t ClockOf(ShardIndex shard) const;
  void Told(ShardIndex shard, uint64_t clock);
  void ToldNothing(ShardIndex shard);  // The shard may have forgotten: a new incarnation.

  // Steps finished on every shard heard of: what heartbeats report.
  uint64_t clock() const;
  std::string DebugString() const;

 private:
  struct ShardClock {
    uint64_t prefix = 0;       // All steps below are finished.
    std::set<uint64_t> above;  // Finished, above the prefix; at most the push window.
    uint64_t told = 0;
  };
  ShardClock& At(ShardIndex shard);
  static void Normalize(ShardClock& clock);

  uint64_t floor_;  // All steps below are over, on every shard.
  uint64_t next_;
  std::set<uint64_t> abandoned_;
  std::map<ShardIndex, ShardClock> shards_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MEMBER_CLOCK_H_
