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
  absl::Time clock_at;  // When it was reported.
  bool clock_heard = false;
  double clock_rate = 0;  // Steps a second between the last two reports.
  bool wants_lease = false;
  double step_seconds = 0;   // Moving average of a step without its waits.
  bool training = false;     // In the view, and so in the quorum of ssp.
  uint64_t start_clock = 0;  // Its clock when it joined the quorum the last time.
};

struct Worker {
  std::string name;
  Incarnation incarnation;
  std::vector<Trainer> trainers;
  absl::Time heard;
  bool draining = false;
  bool stuck = false;  // Its data do not come: nothing is leased to it.
  v1::WorkerReport report;
  std::string peer;  // The address from which it registered; empty: not known.

  std::vector<TrainerId> trainer_ids() const;
  double step_seconds() const;  // The time of its slowest trainer that has reported one.
};

struct MembershipOptions {
  uint64_t term = 1;
  uint32_t threads = 1;  // Trainers a worker has.
  absl::Duration lease;
  absl::Duration presence;    // Whoever has been heard of within it is there.
  absl::Duration data_stall;  // A worker that waits for longer is stuck; 0: none ever is.
  size_t max_workers = 0;
};

// Thread-compatible.
class Membership {
 public:
  explicit Membership(MembershipOptions options) : options_(options) {}

  struct Registration {
    Worker* worker = nullptr;
    std::vector<TrainerId> replaced;  // Trainers of the process of that name that is now void.
    bool is_new = false;
  };
  // Errors as in ChiefMachine::RegisterWorker.
  absl::StatusOr<Registration> Register(const v1::RegisterWorkerRequest& request,
                                        const std::string& peer, absl::Time now);

  // Who speaks. Null: not registered, or no longer, or with other trainers than it has been given
  // here: the answer that reached it was another chief's. Leases would go to trainers it lacks.
  Worker* Find(const v1::WorkerHeartbeatRequest& request);
  Trainer* Find(TrainerId id);
  // The trainer begins to train at this clock, or ceases to: it is in the quorum, or not any more.
  void SetTraining(Trainer& trainer, bool training, uint64_t start_clock);
  // How often the quorum may have become another.
  uint64_t quorum_changes() const { return quorum_changes_; }

  // Takes in what a heartbeat says of the worker itself.
  void Hear(Worker& worker, const v1::WorkerHeartbeatRequest& request, absl::Time now);

  // Removes the workers that have been silent for longer than the lease. Those that were not
  // draining are remembered as lost for a while.
  std::vector<Worker> TakeSilent(absl::Time now);

  std::map<std::string, Worker>& live() { return live_; }
  const std::map<std::string, Worker>& live() const { return live_; }
  size_t trainers() const { return live_.size() * threads(); }  // The trainers of all workers.
  const std::deque<Worker>& lost() const { return lost_; }
  uint64_t registered() const { return registered_; }          // Processes, ever.
  uint64_t trainers_given() const { return trainers_given_; }  // Numbers that trainers got, ever.

  // All trainers that may work, first those that are the first of their worker, so that a few
  // leases are spread over the workers. Those that drain or are stuck have none.
  struct Candidate {
    TrainerId id;
    const Worker* worker;  // Stands until a worker comes or goes.
  };
  std::vector<Candidate> Eligible() const;
  bool AnyEligible() const;
  // How many they are, and how often they may have become others.
  size_t eligible_trainers() const { return (live_.size() - resting_.size()) * threads(); }
  uint64_t eligible_changes() const { return eligible_changes_; }
  // The workers that are live and of which none may work.
  const std::set<std::string>& resting() const { return resting_; }

  // Whose word a worker's is: that of all workers of its address, where they have several
  // addresses.
  std::string VoiceOf(const Worker& worker) const;

  // There are workers, and those that are not draining are stuck, all of them.
  bool AllStuck() const;

  // The clock of the slowest trainer in the quorum, as it should stand now: the last report and
  // what its rate has added since, at most that of one lease. 0 if the quorum is empty.
  uint64_t SlowestClock(absl::Time now) const;
  uint64_t FastestClock() const;

 private:
  // The process of this name, if it is there and another one may not take its place.
  absl::Status CheckFree(const v1::RegisterWorkerRequest& request, absl::Time now) const;
  void Forget(const Worker& worker);
  void SeeRest(const Worker& worker);
  // The trainers that an earlier chief gave to this process are given again.
  bool KeepsTrainers(const v1::RegisterWorkerRequest& request);
  uint32_t threads() const { return std::max(options_.threads, 1u); }

  MembershipOptions options_;
  std::map<std::string, Worker> live_;
  std::deque<Worker> lost_;
  std::deque<Incarnation> void_;                       // Never listened to again; the last ones.
  absl::flat_hash_map<TrainerId, std::string> names_;  // Whose trainers they are.
  std::set<std::string> resting_;
  uint64_t eligible_changes_ = 0;
  uint64_t quorum_changes_ = 0;
  uint64_t trainers_given_ = 0;
  uint64_t registered_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_MEMBERSHIP_H_
