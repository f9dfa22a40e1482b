// The workers: who is registered, when each was heard of last, and what it reported.
#ifndef CAPSTAN_CHIEF_STATE_MEMBERSHIP_H_
#define CAPSTAN_CHIEF_STATE_MEMBERSHIP_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// One compute thread of a worker.
struct Trainer {
  TrainerId id;
  uint64_t clock = 0;
  absl::Time clock_at;  // When `clock` was reported.
  bool clock_heard = false;
  double clock_rate = 0;  // Steps a second between the last two reports.
  bool wants_lease = false;
  double step_seconds = 0;   // Moving average of a step without its waits.
  bool training = false;     // The view names it, so it is in the quorum of ssp.
  uint64_t start_clock = 0;  // The clock at which it last joined the quorum.
};

struct Worker {
  std::string name;
  Incarnation incarnation;
  std::vector<Trainer> trainers;
  absl::Time heard;
  bool draining = false;
  bool stuck = false;  // It has waited for its data for too long: nothing is leased to it.
  v1::WorkerReport report;
  std::string peer;  // The address from which it registered; empty: not known.

  std::vector<TrainerId> trainer_ids() const;
  double step_seconds() const;  // The step time of its slowest trainer; 0 if none has reported one.
};

struct MembershipOptions {
  uint64_t term = 1;
  uint32_t threads = 1;  // Trainers of each worker.
  absl::Duration lease;
  absl::Duration presence;    // A name stays reserved this long after its worker's last heartbeat.
  absl::Duration data_stall;  // A worker that waits for data for this long is stuck; 0: never.
  size_t max_workers = 0;
};

// Thread-compatible.
class Membership {
 public:
  explicit Membership(MembershipOptions options) : options_(options) {}

  struct Registration {
    Worker* worker = nullptr;
    std::vector<TrainerId> replaced;  // Trainers of the process that had the name before.
    bool is_new = false;
  };
  // Errors as in ChiefMachine::RegisterWorker.
  absl::StatusOr<Registration> Register(const v1::RegisterWorkerRequest& request,
                                        const std::string& peer, absl::Time now);

  // Returns the worker that has sent `request`. Returns null if that process is not registered (any
  // more), or names other trainers than this chief has given it: then it has registered with
  // another chief since, and does not have the trainers to which this one would grant leases.
  Worker* Find(const v1::WorkerHeartbeatRequest& request);
  Trainer* Find(TrainerId id);
  // Makes the trainer join the quorum with the clock `start_clock`, or leave it.
  void SetTraining(Trainer& trainer, bool training, uint64_t start_clock);
  // How often the quorum, or a start clock in it, may have changed so far.
  uint64_t quorum_changes() const { return quorum_changes_; }

  // Takes in what a heartbeat reports about the worker itself.
  void Hear(Worker& worker, const v1::WorkerHeartbeatRequest& request, absl::Time now);

  // Returns true if several heartbeats of the worker have not come (MembershipOptions::presence).
  bool IsSilent(const Worker& worker, absl::Time now) const {
    return now - worker.heard > options_.presence;
  }

  // Removes the workers that have been silent for longer than the lease. Those that were not
  // draining are remembered as lost for a while.
  std::vector<Worker> TakeSilent(absl::Time now);

  std::map<std::string, Worker>& live() { return live_; }
  const std::map<std::string, Worker>& live() const { return live_; }
  size_t trainers() const { return live_.size() * threads(); }  // The trainers of all workers.
  const std::deque<Worker>& lost() const { return lost_; }
  uint64_t registered() const { return registered_; }  // How many processes have ever registered.
  // How many trainer ids were ever given out.
  uint64_t trainers_given() const { return trainers_given_; }

  // A trainer that may be given work.
  struct Candidate {
    TrainerId id;
    const Worker* worker;  // Valid until a worker comes or goes.
  };
  // Returns the trainers that may be given work: those of workers that neither drain nor are stuck.
  // The first trainers of all workers come first, then the second ones, and so on, so that a few
  // leases are spread over many workers.
  std::vector<Candidate> Eligible() const;
  bool AnyEligible() const;
  // How many trainers Eligible() returns, and how often that set may have changed so far.
  size_t eligible_trainers() const { return (live_.size() - resting_.size()) * threads(); }
  uint64_t eligible_changes() const { return eligible_changes_; }
  // The live workers whose trainers get no work, because they drain or are stuck.
  const std::set<std::string>& resting() const { return resting_; }

  // Returns the voice of a worker (see Accusations): its address, which all workers at that address
  // share; or its name if all live workers have the same address.
  std::string VoiceOf(const Worker& worker) const;

  // Returns true if there are workers that do not drain, and all of these are stuck.
  bool AllStuck() const;

  // Estimates the clock of the slowest trainer in the quorum at `now`: its last reported clock,
  // extrapolated by its rate over at most one lease. Returns 0 if the quorum is empty.
  uint64_t SlowestClock(absl::Time now) const;
  uint64_t FastestClock() const;

 private:
  // UNAVAILABLE: another process has the name, was heard of within `presence`, does not drain, and
  // is not the one that `request` says it follows (`former`).
  absl::Status CheckFree(const v1::RegisterWorkerRequest& request, absl::Time now) const;
  void Forget(const Worker& worker);
  void SeeRest(const Worker& worker);
  // Returns true if the process keeps the trainers that `request` names: an earlier chief has given
  // them, and no live worker has them.
  bool KeepsTrainers(const v1::RegisterWorkerRequest& request);
  uint32_t threads() const { return std::max(options_.threads, 1u); }

  MembershipOptions options_;
  std::map<std::string, Worker> live_;
  std::deque<Worker> lost_;
  std::deque<Incarnation> void_;  // Replaced or lost processes, which may not return; the latest.
  absl::flat_hash_map<TrainerId, std::string> names_;  // The name of each trainer's worker.
  std::set<std::string> resting_;
  uint64_t eligible_changes_ = 0;
  uint64_t quorum_changes_ = 0;
  uint64_t trainers_given_ = 0;
  uint64_t registered_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_MEMBERSHIP_H_
