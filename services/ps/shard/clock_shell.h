// Who waits for slower trainers (ssp): ClockMachine, the pulls that wait for it, and what trainers
// have finished at the owners of what is backed up here.
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
#include "ps/shard/catalog.h"
#include "ps/shard/parked_calls.h"
#include "ps/shard/replica_streams.h"

namespace capstan::ps {

class ClockShell;

// Pulls whose wait is over because of a push. They are carried out and answered when this is
// destroyed: after the push has been answered, whose sender is not to wait for the work of others.
class ReleasedPulls {
 public:
  ReleasedPulls() = default;
  // `clocks` must outlive this.
  ReleasedPulls(ClockShell& clocks, PullAnswers answers)
      : clocks_(answers.empty() ? nullptr : &clocks), answers_(std::move(answers)) {}
  ReleasedPulls(ReleasedPulls&& other) noexcept { *this = std::move(other); }
  // REQUIRES: this one holds none.
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

// *Thread-safe*. Deadlines are of the shard's clock. Where no part of the job is ssp nothing is
// kept here.
class ClockShell {
 public:
  // `streams`: to the backups, who are told what is finished here; null: there are none. Must
  // outlive this.
  ClockShell(const Catalog& catalog, ReplicaStreams* streams);

  // A part of the job is ssp.
  bool needed() const { return needed_; }

  // The view's trainers are the quorum of its timeline.
  void SetQuorum(const v1::View& view);
  // A later timeline: what trainers had finished is void. They begin again, and nobody may run
  // ahead of them.
  void Restart();
  // Partitions are about to be served from where trainers have finished so much; what is told by a
  // view before `epoch` does not hold for them. `had_none`: no partition was served before.
  void TakeOver(const std::vector<FinishedClock>& clocks, bool had_none, ViewEpoch epoch);
  // What goes with a partition that leaves.
  std::vector<FinishedClock> Finished() const;

  // Calls done(OK) now or when slower trainers have come up, then on another thread; done(error) at
  // the deadline, where too many wait, or where the quorum is not known. The waiter, if it is
  // parked, may be forgotten.
  // REQUIRES: needed().
  using Done = absl::AnyInvocable<void(const absl::Status&)>;
  std::optional<WaiterId> Wait(uint64_t clock, absl::Time deadline, size_t bytes, Done done);
  // The requests that wait may take so many bytes together.
  void SetParkedLimit(size_t bytes);
  // The caller has gone away. True: its callback will not run and has been destroyed.
  bool Forget(WaiterId waiter);
  // A trainer has finished so many steps, as it says by the view of this epoch.
  ReleasedPulls OnFinished(TrainerId trainer, uint64_t clock, ViewEpoch by);
  // Answers those whose wait is over.
  void Tick(absl::Time now);

  // ---- of what is backed up here ----

  // With a copy has come what trainers had finished at its owner: that may be less than was known.
  void AdoptFrom(Incarnation owner, const std::vector<FinishedClock>& clocks);
  // A trainer has finished more there.
  void HearOfOwner(Incarnation owner, FinishedClock finished);
  // Forgets the owners that are not named any more.
  void KeepOwners(absl::FunctionRef<bool(Incarnation)> named);
  // Nobody has finished more here than where what is backed up here comes from.
  std::vector<FinishedClock> LowestOfOwners() const;

  struct Facts {
    uint64_t spread = 0;
    size_t trainers = 0;
    size_t parked = 0;
    size_t parked_bytes = 0;  // The memory that their requests take.
  };
  Facts facts() const;

 private:
  friend class ReleasedPulls;
  void Answer(const PullAnswers& answers);

  const bool needed_;
  ReplicaStreams* const streams_;
  mutable absl::Mutex mu_;
  ClockMachine machine_ ABSL_GUARDED_BY(mu_);
  bool quorum_known_ ABSL_GUARDED_BY(mu_) = false;  // In the present timeline.
  // The view by which the last partition has come: what is told by an older one does not hold.
  ViewEpoch hold_from_ ABSL_GUARDED_BY(mu_);
  // The quorum, and where each has begun.
  std::map<TrainerId, uint64_t> start_clocks_ ABSL_GUARDED_BY(mu_);
  // When a copy was made, and what its owner has told since.
  std::map<Incarnation, std::map<TrainerId, uint64_t>> owners_ ABSL_GUARDED_BY(mu_);
  ParkedCalls<absl::Status> parked_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_CLOCK_SHELL_H_
