// What carries out the work on one lease, and where the outcomes arrive. In a worker process that
// is worker/shell/lease_calls, with a prefetcher, a compute thread and clients of the shards; the
// simulation has a network, a clock and arithmetic of its own.
#ifndef CAPSTAN_WORKER_SESSION_LEASE_SHELL_H_
#define CAPSTAN_WORKER_SESSION_LEASE_SHELL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "worker/machines/runner_machine.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/lease_lifecycle.h"

namespace capstan::worker {

// Takes what has become of the work. Any call may have further work begun, and may come while the
// shell is asked to begin some.
class LeaseEvents {
 public:
  virtual ~LeaseEvents() = default;

  // Takes the answer to an action: BatchRead, EndOfData, PullDone, Computed, PushDone, ClockDone,
  // OpenDone or ReportDone.
  virtual void Deliver(Event event) = 0;
  // A batch that was asked for cannot be read, which ends the lease.
  virtual void OnReadFailed(const absl::Status& why) = 0;
  // The user's program cannot compute a batch, which ends the lease: this worker would fail again,
  // so the chief is told, and decides.
  virtual void OnComputeFailed(const absl::Status& why) = 0;
  // Answers ReadToEnd().
  virtual void OnReadToEnd(const absl::Status& status) = 0;
};

// Each Do() begins what the action says, by the contract in runner_machine.h; the answer comes
// later, or within the call. No answer comes once the shell is destroyed. Thread-compatible.
class LeaseShell {
 public:
  virtual ~LeaseShell() = default;

  // To be called once, before all else. `events`, which must outlive the shell, takes the answers.
  virtual void Begin(LeaseEvents& events) = 0;

  virtual absl::Time Now() const = 0;
  virtual double Random() = 0;               // Draws from [0, 1).
  virtual const v1::View& view() const = 0;  // The newest that the trainer knows.
  virtual TasksRead& tasks() = 0;            // What has been read of the lease's tasks.

  // ---- actions of the machine ----

  virtual void Do(const ReadBatch& action) = 0;
  virtual void Do(const SendPull& action) = 0;
  virtual void Do(const Compute& action) = 0;
  virtual void Do(const SendPush& action) = 0;
  virtual void Do(const SendClock& action) = 0;
  virtual void Do(const SendReport& action) = 0;
  virtual void Do(const Forget& action) = 0;
  // Opens a round. `asked`: when the machine asked for it, which is earlier where the call had to
  // wait for its turn. The shell holds `turn` until the answer has come.
  virtual void Open(const SendOpen& action, absl::Time asked,
                    std::optional<WaitingTurns::Turn> turn) = 0;

  // ---- what else happens to a lease ----

  // Partitions have moved, or shards have begun anew: plans all batches that were read and not
  // forgotten anew by view(), and returns them with their shards. Nothing counts as pulled or
  // pushed any longer; calls under way may be cancelled.
  virtual std::vector<BatchRead> Replan() = 0;
  // Returns whether `batch` is kept, and `shard` holds something of it.
  virtual bool Needs(uint64_t batch, ShardIndex shard) const = 0;
  // The chief has sent the lane's tasks again, and perhaps further ones.
  virtual void Extend(const v1::Lease& lease) = 0;
  // Reads the lane's tasks up to their end, which is at `batches`; no batch is asked for any more.
  virtual void ReadToEnd(uint64_t batches) = 0;
  // The machine has handled `event`.
  virtual void OnHandled(const Event& event, const RunnerMachine& machine) = 0;
  // The machine has finished. `lost`: another runner may work on the lease.
  virtual void OnFinished(bool lost) = 0;
  // Adds to a report what only the shell knows: losses that are not finite, and results of
  // evaluations.
  virtual void AddResults(v1::LeaseReport& report) const = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_SHELL_H_
