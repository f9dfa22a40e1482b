// Decides which pulls wait under ssp, on one shard. Clocks are absolute: a push carries the number
// of steps that its trainer has finished, this one included; a pull carries the number of the step
// for which it is made.
//
// A pull that has to wait is parked under a WaiterId, which the shell chooses, and has a deadline.
// At most kMaxParked pulls are parked, and their requests take at most kMaxParkedBytes (or the
// limit of SetParkedLimit) together. Evaluation pulls do not come here.
#ifndef CAPSTAN_PS_MACHINES_CLOCK_MACHINE_H_
#define CAPSTAN_PS_MACHINES_CLOCK_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "ps/machines/quorum_clocks.h"
#include "ps/machines/waiter.h"

namespace capstan::ps {

// A trainer of the quorum, as named in a view.
struct QuorumTrainer {
  TrainerId trainer{};
  uint64_t start_clock = 0;
};

// The steps that a trainer has finished.
struct FinishedClock {
  TrainerId trainer{};
  uint64_t clock = 0;
};

// The result for a parked pull. OK: the pull may continue. DEADLINE_EXCEEDED: its deadline has
// passed, and the runner pulls again. UNAVAILABLE: the timeline of the pull has ended.
struct PullAnswer {
  WaiterId waiter{};
  absl::Status status;
};
using PullAnswers = std::vector<PullAnswer>;

enum class PullWait { kGo, kParked, kFull };

// Thread-compatible.
class ClockMachine {
 public:
  // A pull that would exceed one of the first two limits is answered RESOURCE_EXHAUSTED.
  // kMaxParkedBytes is a quarter of the memory of a server's transport (ServerOptions), so that
  // pushes, which end the waits, are still received. Where the transport has less memory,
  // SetParkedLimit lowers the limit.
  static constexpr size_t kMaxParked = 4096;
  static constexpr size_t kMaxParkedBytes = size_t{256} << 20;
  static constexpr size_t kMaxStrangers = 1024;

  explicit ClockMachine(uint64_t bound) : bound_(bound) {}

  // Makes `trainers`, which a view names, the quorum. The clock of a trainer starts at its
  // start_clock, or at the highest clock in its own pushes if that is higher. Releases pulls.
  PullAnswers SetQuorum(std::span<const QuorumTrainer> trainers);

  // A later timeline begins: forgets all clocks, and answers every parked pull UNAVAILABLE.
  PullAnswers Restart();

  // `trainer` has finished `clock` steps: its push has been handled, and no outcome of that push
  // requires a retry. Releases pulls. The clock of a trainer outside the quorum is remembered,
  // because a view that names the trainer may arrive late; at most kMaxStrangers such clocks are
  // kept.
  PullAnswers Finished(TrainerId trainer, uint64_t clock);

  // A partition has come from a shard where trainers had finished `clocks`: lowers the clocks known
  // here to those. `had_none` is true if this shard had no partition before: then `clocks` replace
  // the known ones, and unknown trainers are added. Otherwise unknown trainers are ignored.
  void TakeOver(std::span<const FinishedClock> clocks, bool had_none);

  // Asks whether a pull for `step` may continue now. kParked: a later PullAnswer names `waiter`,
  // and until then its request of `bytes` counts as parked. kFull: there is no room to park the
  // pull.
  PullWait Pull(WaiterId waiter, uint64_t step, absl::Time deadline, size_t bytes);

  // Limits the total size of the requests of parked pulls to `bytes`, instead of kMaxParkedBytes.
  void SetParkedLimit(size_t bytes) { max_parked_bytes_ = bytes; }

  // Forgets a parked pull whose caller has cancelled it.
  void Forget(WaiterId waiter);

  PullAnswers Tick(absl::Time now);

  // The clocks of the quorum and of trainers outside it. They are sent along when a partition moves
  // to another shard.
  std::vector<FinishedClock> clocks() const;

  uint64_t slowest() const { return clocks_.slowest(); }  // 2^64-1 without a quorum: no pull waits.
  // The difference between the fastest and the slowest clock of the quorum.
  uint64_t spread() const { return clocks_.size() == 0 ? 0 : clocks_.fastest() - slowest(); }
  size_t trainers() const { return clocks_.size(); }  // How many trainers are in the quorum.
  size_t parked() const { return parked_.size(); }
  size_t parked_bytes() const { return parked_bytes_; }  // Bytes of the requests of parked pulls.
  std::string DebugString() const;                       // Leaves WaiterIds out.

 private:
  struct Parked {
    WaiterId waiter{};
    uint64_t step = 0;
    absl::Time deadline;
    size_t bytes = 0;
  };
  // Removes the pulls for which over(pull) is true from parked_.
  void Unpark(absl::FunctionRef<bool(const Parked&)> over);
  PullAnswers ReleasePulls();
  void BoundStrangers();

  uint64_t bound_;
  size_t max_parked_bytes_ = kMaxParkedBytes;
  QuorumClocks clocks_;
  uint64_t released_up_to_ = 0;              // The slowest() at the last release of pulls.
  std::map<TrainerId, uint64_t> strangers_;  // Clocks of trainers outside the quorum.
  std::vector<Parked> parked_;               // In order of arrival.
  size_t parked_bytes_ = 0;                  // Bytes of the parked pulls' requests.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_CLOCK_MACHINE_H_
