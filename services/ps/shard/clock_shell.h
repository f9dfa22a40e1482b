// Makes pulls wait for slower trainers (ssp): drives ClockMachine, and holds the calls that are
// parked in it, and the clocks of trainers at the owners of partitions that are backed up here.
#ifndef CAPSTAN_PS_SHARD_CLOCK_SHELL_H_
#define CAPSTAN_PS_SHARD_CLOCK_SHELL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/v1/view.pb.h"
#include "ps/machines/clock_machine.h"
#include "ps/partition/catalog.h"
#include "ps/shard/parked_calls.h"
#include "ps/shard/replica_streams.h"

namespace capstan::ps {

class ClockShell;

// Pulls whose wait a push has ended. The destructor carries them out and answers them. It should
// run after the push has been answered, so that the sender of the push does not wait for that work.
class ReleasedPulls {
 public:
  ReleasedPulls() = default;
  // `clocks` must outlive this object.
  ReleasedPulls(ClockShell& clocks, PullAnswers answers)
      : clocks_(answers.empty() ? nullptr : &clocks), answers_(std::move(answers)) {}
  ReleasedPulls(ReleasedPulls&& other) noexcept { *this = std::move(other); }
  // REQUIRES: this object holds no pulls.
  ReleasedPulls& operator=(ReleasedPulls&& other) noexcept {
    clocks_ = std::exchange(other.clocks_, nullptr);
    answers_ = std::move(other.answers_);
    return *this;
  }
  ~ReleasedPulls();

  bool empty() const { return clocks_ == nullptr; }

 private:
  ClockShell* clocks_ = nullptr;
  PullAnswers answers_;
};

// *Thread-safe*. Deadlines are times of the shard's clock. If no part of the job is ssp, calls do
// nothing.
class ClockShell {
 public:
  // `streams`: send backups what trainers have finished here; null if there are no backups. Both
  // arguments must outlive this object.
  ClockShell(const Catalog& catalog, ReplicaStreams* streams);

  // Returns true if a part of the job is ssp.
  bool needed() const { return needed_; }

  // Makes the trainers that `view` names the quorum.
  void SetQuorum(const v1::View& view);
  // A later timeline begins: forgets all clocks, and answers every waiting pull UNAVAILABLE. Pulls
  // are refused until SetQuorum.
  void Restart();
  // Partitions are about to be served that come from shards where trainers had finished `clocks`;
  // see ClockMachine::TakeOver. From now on clocks that a trainer reports under a view before
  // `epoch` are ignored, as they do not hold for these partitions. `had_none`: no partition was
  // served before.
  void TakeOver(const std::vector<FinishedClock>& clocks, bool had_none, ViewEpoch epoch);
  // Returns the clocks to be sent along with a partition that leaves.
  std::vector<FinishedClock> Finished() const;

  // Calls done(OK) at once, or on another thread when slower trainers have caught up. Otherwise
  // calls `done` with DEADLINE_EXCEEDED at the deadline, RESOURCE_EXHAUSTED if too many pulls wait,
  // or UNAVAILABLE if the quorum is not known or the timeline ends. If the call is parked, returns
  // the id to pass to Forget(). `bytes` is the size of the request. REQUIRES: needed().
  using Done = absl::AnyInvocable<void(const absl::Status&)>;
  std::optional<WaiterId> Wait(uint64_t clock, absl::Time deadline, size_t bytes, Done done);
  // Limits the total size of the requests of waiting pulls to `bytes`.
  void SetParkedLimit(size_t bytes);
  // The caller has cancelled its call: forgets it. Returns true if `done` has been destroyed and
  // will not run.
  bool Forget(WaiterId waiter);
  // `trainer` has finished `clock` steps, as it reports under the view `by`. Returns the pulls that
  // this releases.
  ReleasedPulls OnFinished(TrainerId trainer, uint64_t clock, ViewEpoch by);
  // Answers the calls whose deadline has passed at `now`.
  void Tick(absl::Time now);

  // ---- partitions that are backed up here ----

  // A copy has come from `owner`, with what trainers had finished there: sets these clocks for the
  // owner, even if they are lower than those known before.
  void AdoptFrom(Incarnation owner, const std::vector<FinishedClock>& clocks);
  // A trainer has finished more steps at `owner`.
  void HearOfOwner(Incarnation owner, FinishedClock finished);
  // Forgets the owners for which `named` returns false.
  void KeepOwners(absl::FunctionRef<bool(Incarnation)> named);
  // Returns the lowest clock of each trainer among the owners of what is backed up here. When such
  // partitions are promoted, the clocks of trainers here are lowered to these.
  std::vector<FinishedClock> LowestOfOwners() const;

  struct Facts {
    uint64_t spread = 0;
    size_t trainers = 0;
    size_t parked = 0;
    size_t parked_bytes = 0;  // Bytes that the requests of parked pulls take.
  };
  Facts facts() const;

 private:
  friend class ReleasedPulls;
  void Answer(const PullAnswers& answers);

  const bool needed_;
  ReplicaStreams* const streams_;
  mutable absl::Mutex mu_;
  ClockMachine machine_ ABSL_GUARDED_BY(mu_);
  // SetQuorum has been called in the present timeline.
  bool quorum_known_ ABSL_GUARDED_BY(mu_) = false;
  // The view by which the last partition has come: clocks reported under an older view are ignored.
  ViewEpoch hold_from_ ABSL_GUARDED_BY(mu_);
  // The start_clock of each trainer of the quorum.
  std::map<TrainerId, uint64_t> start_clocks_ ABSL_GUARDED_BY(mu_);
  // By owner: the trainers' clocks when a copy was made, raised by what the owner has sent since.
  std::map<Incarnation, std::map<TrainerId, uint64_t>> owners_ ABSL_GUARDED_BY(mu_);
  ParkedCalls<absl::Status> parked_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_CLOCK_SHELL_H_
