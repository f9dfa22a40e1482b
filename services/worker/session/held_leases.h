// The leases of one trainer: which are worked on, which wait, and what the chief is told of them. A
// trainer reads one task at a time and holds a spare one, which begins while the last batches of
// the one before are still computed and pushed; it works on all its lanes and evaluations at once.
#ifndef CAPSTAN_WORKER_SESSION_HELD_LEASES_H_
#define CAPSTAN_WORKER_SESSION_HELD_LEASES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "worker/machines/trainer_clock.h"
#include "worker/session/lease_work.h"
#include "worker/session/session_machine.h"

namespace capstan::worker {

// The report of a lease that has not begun. `returned`: it is given back.
v1::LeaseReport UntouchedReport(const v1::Lease& lease, bool returned);

// Thread-compatible.
class HeldLeases {
 public:
  using BeginWork = absl::AnyInvocable<std::unique_ptr<LeaseWork>(const v1::Lease& lease)>;
  using CopyWork = absl::FunctionRef<std::unique_ptr<LeaseWork>(const LeaseWork& work)>;

  // `clock` must outlive this object.
  HeldLeases(TrainerId trainer, TrainerClock& clock, BeginWork begin)
      : trainer_(trainer), clock_(clock), begin_(std::move(begin)) {}
  // For the explorer of the simulation: goes on from where `other` is; `copy` copies the work on
  // each of its leases.
  HeldLeases(const HeldLeases& other, TrainerClock& clock, BeginWork begin, CopyWork copy);

  void Grant(const v1::Lease& lease);
  void Extend(const v1::Lease& lease);
  void Revoke(const Generation& generation);
  // Drops all leases of timelines before `timeline`, which are void. To be called before OnView()
  // with the view of `timeline`.
  void ForgetBefore(uint64_t timeline);
  // Leases finish the steps that are under way and are given back by `deadline`; no other begins.
  void BeginDrain(absl::Time deadline);
  // A newer view, which the trainer's client has already. `restarted`: the shards with a new
  // incarnation.
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted);

  absl::Time NextWake() const;
  // To be called after whatever happens to the leases: begins the spare task if its time has come,
  // and wakes tasks when steps are over.
  void Wake(absl::Time now);

  bool HasEnded() const;  // A lease is over (or given back), and not reported yet.
  bool HasNews() const;   // See LeaseWork.
  // Tells `session` the state of all leases, the trainer's clock and `step_seconds`, and whether it
  // wants a lease; then forgets the leases that are over.
  void ReportTo(SessionMachine& session, double step_seconds);

  // For the explorer of the simulation: which leases are held and which wait, in one line.
  std::string DebugString() const;

 private:
  struct Held {
    v1::LeaseKind kind;
    uint64_t timeline;
    std::unique_ptr<LeaseWork> work;
  };

  bool MayBegin(const v1::Lease& lease) const;
  void BeginWaiting();
  bool ReadsTask() const;
  void WakeTasks();

  const TrainerId trainer_;
  TrainerClock& clock_;
  BeginWork begin_;
  std::map<Generation, Held> held_;
  // Leases that have not begun: spare tasks, and any lease that comes before the view that says
  // where the partitions are.
  std::deque<v1::Lease> waiting_;
  uint64_t timeline_ = 0;  // The timeline of the view.
  bool placed_ = false;    // The view says where the partitions are.
  bool draining_ = false;
  uint64_t woken_at_ = 0;  // How many of the trainer's steps were over when its tasks were woken.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_HELD_LEASES_H_
