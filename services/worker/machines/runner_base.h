// What the task runner and the lane runner have in common: tickets, actions, clocks of ssp, the
// end.
#ifndef CAPSTAN_WORKER_MACHINES_RUNNER_BASE_H_
#define CAPSTAN_WORKER_MACHINES_RUNNER_BASE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "worker/machines/calls.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// One call for each shard.
using ShardCalls = std::map<ShardIndex, Call>;
bool AllDone(const ShardCalls& calls);
std::string DebugString(const ShardCalls& calls);

// Confined to the trainer's event loop.
class RunnerBase : public RunnerMachine {
 public:
  Actions On(const Event& event, const RunnerContext& context) final;
  absl::Time NextWake() const final;
  RunnerProgress progress() const final { return progress_; }
  bool finished() const final { return finished_; }

 protected:
  explicit RunnerBase(const RunnerOptions& options) : options_(options) {}

  // Handle() changes the state as the event says; afterwards Pump() starts whatever can be started.
  virtual void Handle(const Event& event, const RunnerContext& context) = 0;
  virtual void Pump(const RunnerContext& context) = 0;
  // Returns every step that has begun and is not over.
  virtual std::vector<uint64_t> OpenSteps() const = 0;
  // Returns all calls of which some may be waiting to be tried again.
  virtual std::vector<const Call*> Calls() const = 0;
  // Returns whether pushes of gradients to `shard` are yet to be done; these tell it the clock,
  // too.
  virtual bool Pushing(ShardIndex shard) const = 0;
  // Writes into `told` the name of the lease.
  virtual void NameLease(SendClock& told) const = 0;

  template <typename A>
  void Do(A action) {
    actions_.push_back(std::move(action));
  }
  Ticket NextTicket() { return ++last_ticket_; }
  void Finish(Finished::Why why, const RunnerContext& context,
              absl::Status status = absl::OkStatus());

  // After a failed call: makes it wait to be tried again, or ends the lease if `verdict` is kFatal.
  // REQUIRES: `verdict` is kAgain or kFatal.
  void Again(Call& call, Verdict verdict, const absl::Status& status, absl::Duration hint,
             const RunnerContext& context);
  // Returns whether the call is to be made now, for the first time or again.
  bool Due(const Call& call, const RunnerContext& context) const;
  // Returns the clock that a push of `step` carries; 0 unless the job has an ssp part.
  uint64_t ClockOfPush(ShardIndex shard, uint64_t step, const RunnerContext& context) const;
  // The shards of the newest view.
  const std::vector<ShardIndex>& AllShards() const { return options_.shards; }
  std::string BaseDebugString() const;

  RunnerOptions options_;
  RunnerProgress progress_;
  bool draining_ = false;

 private:
  void HandleCommon(const Event& event, const RunnerContext& context);
  void OnClockDone(const ClockDone& done, const RunnerContext& context);
  void PumpClocks(const RunnerContext& context);

  bool view_changed_ = false;  // The present event is a view: calls that wait are tried at once.
  absl::Time drain_deadline_ = absl::InfiniteFuture();
  bool finished_ = false;
  Ticket last_ticket_ = 0;
  ShardCalls clock_calls_;
  Actions actions_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_RUNNER_BASE_H_
