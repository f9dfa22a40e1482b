// What the task holder and the lane holder have in common: tickets, actions, clocks of ssp, the
// end.
#ifndef CAPSTAN_WORKER_HOLDER_BASE_H_
#define CAPSTAN_WORKER_HOLDER_BASE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "worker/calls.h"
#include "worker/holder_machine.h"

namespace capstan::worker {

// A call a shard.
using ShardCalls = std::map<ShardIndex, Call>;
bool AllDone(const ShardCalls& calls);
std::string DebugString(const ShardCalls& calls);

// Confined to the member's event loop.
class HolderBase : public HolderMachine {
 public:
  Actions On(const Event& event, const HolderContext& context) final;
  absl::Time NextWake() const final;
  HolderProgress progress() const final { return progress_; }
  bool finished() const final { return finished_; }

 protected:
  explicit HolderBase(const HolderOptions& options) : options_(options) {}

  // Carries out what the event means; afterwards Pump() starts whatever can be started.
  virtual void Handle(const Event& event, const HolderContext& context) = 0;
  virtual void Pump(const HolderContext& context) = 0;
  // Every step that has begun and is not over.
  virtual std::vector<uint64_t> OpenSteps() const = 0;
  // The calls that are to be tried when their time has come.
  virtual std::vector<const Call*> Calls() const = 0;
  // Whether data pushes to the shard are under way, which tell the clock as well.
  virtual bool Pushing(ShardIndex shard) const = 0;

  template <typename A>
  void Do(A action) {
    actions_.push_back(std::move(action));
  }
  Ticket NextTicket() { return ++last_ticket_; }
  void Finish(Finished::Why why, const HolderContext& context,
              absl::Status status = absl::OkStatus());

  // After a failed call: waits, asks for a view, or ends the lease. Not for kOk and kRoundOver.
  void Again(Call& call, Verdict verdict, const absl::Status& status, absl::Duration hint,
             const HolderContext& context);
  // Whether it is time to (re)try the call.
  bool Due(const Call& call, const HolderContext& context) const;
  // The clock that a push of `step` tells; 0 unless clocks are told.
  uint64_t ClockOfPush(ShardIndex shard, uint64_t step, const HolderContext& context) const;
  std::vector<ShardIndex> AllShards() const;
  std::string BaseDebugString() const;

  HolderOptions options_;
  HolderProgress progress_;
  bool draining_ = false;

 private:
  void HandleCommon(const Event& event, const HolderContext& context);
  void OnClockDone(const ClockDone& done, const HolderContext& context);
  void PumpClocks(const HolderContext& context);

  bool view_changed_ = false;  // By the present event: what waits is tried at once.
  absl::Time drain_deadline_ = absl::InfiniteFuture();
  bool finished_ = false;
  Ticket last_ticket_ = 0;
  ShardCalls clock_calls_;
  Actions actions_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_HOLDER_BASE_H_
