// Which pulls wait under ssp, on one shard. Clocks are absolute: a push carries the steps that its
// trainer has finished with it, a pull carries the step that it is for.
//
// A pull that has to wait is parked as a WaiterId chosen by the shell, each with a deadline:
// kMaxParked of them at most, and of kMaxParkedBytes, or fewer. Evaluation pulls do not come here.
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

// A trainer of the quorum, as the view names it.
struct QuorumTrainer {
  TrainerId trainer{};
  uint64_t start_clock = 0;
};

// The steps that a trainer has finished.
struct FinishedClock {
  TrainerId trainer{};
  uint64_t clock = 0;
};

// OK: the pull may go on. DEADLINE_EXCEEDED: it has waited long enough; the runner asks again.
// UNAVAILABLE: its timeline is over.
struct PullAnswer {
  WaiterId waiter{};
  absl::Status status;
};
using PullAnswers = std::vector<PullAnswer>;

enum class PullWait { kGo, kParked, kFull };

// Thread-compatible.
class ClockMachine {
 public:
  // Above them: RESOURCE_EXHAUSTED. The requests that wait are a quarter of what the
  // transport of a server may hold (ServerOptions), so that pushes, which end the waiting, still
  // come in: of a transport that may hold less, SetParkedLimit says less.
  static constexpr size_t kMaxParked = 4096;
  static constexpr size_t kMaxParkedBytes = size_t{256} << 20;
  static constexpr size_t kMaxStrangers = 1024;

  explicit ClockMachine(uint64_t bound) : bound_(bound) {}

  // The view's trainers are the quorum. A trainer begins at its start_clock, or at what it has told
  // by itself if that is more. Releases pulls.
  PullAnswers SetQuorum(std::span<const QuorumTrainer> trainers);

  // A later timeline: steps are counted anew, and whoever waits for an old one waits in vain.
  PullAnswers Restart();

  // A push of `trainer` has been carried out, no outcome of it asks for another try: it has
  // finished `clock` steps. Releases pulls. What somebody says who is not of the quorum (or not
  // yet: views lag) is remembered, of kMaxStrangers at most.
  PullAnswers Finished(TrainerId trainer, uint64_t clock);

  // A partition has come from a shard where trainers have finished so much: nobody has finished
  // more here. Of whom nothing is known here it says nothing, unless there was no partition before.
  void TakeOver(std::span<const FinishedClock> clocks, bool had_none);

  // kParked: `waiter` is answered later, and its request of so many bytes kept until then.
  PullWait Pull(WaiterId waiter, uint64_t step, absl::Time deadline, size_t bytes);

  // The requests that wait may take so many bytes together, in the place of kMaxParkedBytes.
  void SetParkedLimit(size_t bytes) { max_parked_bytes_ = bytes; }

  // The caller has gone away.
  void Forget(WaiterId waiter);

  PullAnswers Tick(absl::Time now);
  absl::Time NextWake() const;

  // The clocks of the quorum and of others, which a shard is told that takes over a partition.
  std::vector<FinishedClock> clocks() const;

  uint64_t slowest() const { return clocks_.slowest(); }  // Without a quorum nobody waits.
  // Clocks between the slowest and the fastest of the quorum.
  uint64_t spread() const { return clocks_.size() == 0 ? 0 : clocks_.fastest() - slowest(); }
  size_t trainers() const { return clocks_.size(); }  // How many trainers are in the quorum.
  size_t parked() const { return parked_.size(); }
  size_t parked_bytes() const { return parked_bytes_; }  // Bytes of the requests of parked pulls.
  std::string DebugString() const;                       // Without the waiters' names.

 private:
  struct Parked {
    WaiterId waiter{};
    uint64_t step = 0;
    absl::Time deadline;
    size_t bytes = 0;
  };
  // Un-parks those of whom over(pull) is true.
  void Unpark(absl::FunctionRef<bool(const Parked&)> over);
  PullAnswers ReleasePulls();
  void BoundStrangers();

  uint64_t bound_;
  size_t max_parked_bytes_ = kMaxParkedBytes;
  QuorumClocks clocks_;
  uint64_t released_up_to_ = 0;              // The slowest when pulls were released last.
  std::map<TrainerId, uint64_t> strangers_;  // Clocks of those who are not in it.
  std::vector<Parked> parked_;               // In order of arrival.
  size_t parked_bytes_ = 0;                  // Bytes of the parked pulls' requests.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_CLOCK_MACHINE_H_
