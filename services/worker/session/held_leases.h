// The leases of one trainer: which are worked on, which wait, and what the chief is told of them.
// One task at a time, and a spare one; all lanes and evaluations at once.
#ifndef CAPSTAN_WORKER_SESSION_HELD_LEASES_H_
#define CAPSTAN_WORKER_SESSION_HELD_LEASES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "worker/machines/trainer_clock.h"
#include "worker/session/lease_work.h"
#include "worker/session/session_machine.h"

namespace capstan::worker {

// Thread-compatible.
class HeldLeases {
 public:
  using BeginWork = absl::AnyInvocable<std::unique_ptr<LeaseWork>(const v1::Lease& lease)>;

  // `clock` must outlive this object.
  HeldLeases(TrainerId trainer, TrainerClock& clock, BeginWork begin)
      : trainer_(trainer), clock_(clock), begin_(std::move(begin)) {}

  void Grant(const v1::Lease& lease);
  void Extend(const v1::Lease& lease);
  void Revoke(const Generation& generation);
  // What was granted in an earlier timeline than this is void. Comes before the timeline's view.
  void ForgetBefore(uint64_t timeline);
  // Steps under way are finished, everything else is given back by the deadline.
  void BeginDrain(absl::Time deadline);
  // A newer view, which those at work go by already.
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted);

  absl::Time NextWake() const;
  void Wake(absl::Time now);

  bool HasEnded() const;  // A lease is over and not yet reported.
  bool HasNews() const;   // See LeaseWork.
  // Tells the session of all leases and of the trainer, and forgets those that are over.
  void ReportTo(SessionMachine& session, double step_seconds);

 private:
  struct Held {
    v1::LeaseKind kind;
    uint64_t timeline;
    std::unique_ptr<LeaseWork> work;
  };

  bool MayBegin(const v1::Lease& lease) const;
  void BeginWaiting();
  bool HasTask() const;

  const TrainerId trainer_;
  TrainerClock& clock_;
  BeginWork begin_;
  std::map<Generation, Held> held_;
  // Not begun: spare tasks, and whatever comes before the view that says where the partitions are.
  std::deque<v1::Lease> waiting_;
  uint64_t timeline_ = 0;  // The timeline of the view.
  bool placed_ = false;    // It says where the partitions are.
  bool draining_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_HELD_LEASES_H_
