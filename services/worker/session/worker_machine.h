// A worker between its registration and its end: what it does with every view and every answer of
// the chief, when it sends a heartbeat, when it registers again, and when it has drained. The
// machine knows no thread, socket, file or clock; a shell tells it what happens, and carries out
// what it asks for.
//
// The contract between shell and machine:
//  - Add every trainer of the registration before the first Turn.
//  - Call Turn after each of the events below, and when NextTurn() has come.
//  - Every call to the chief that the machine asks for is answered once, also when it failed, and
//    never before the request to send it has returned.
#ifndef CAPSTAN_WORKER_SESSION_WORKER_MACHINE_H_
#define CAPSTAN_WORKER_SESSION_WORKER_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "worker/session/progress_grain.h"
#include "worker/session/session_machine.h"
#include "worker/session/trainer_work.h"

namespace capstan::worker {

// What the machine asks of the process around it.
class WorkerShell {
 public:
  virtual ~WorkerShell() = default;

  // Answered by WorkerMachine::OnHeartbeat.
  virtual void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) = 0;
  // Answered by WorkerMachine::OnRegistered.
  virtual void SendRegistration(const v1::RegisterWorkerRequest& request) = 0;
  // Returns what the next heartbeat tells of the process.
  virtual v1::WorkerReport MakeReport() = 0;
  // Returns how many examples the process has trained since it began.
  virtual uint64_t trained() const = 0;
};

// How the life of one worker incarnation ended.
enum class WorkerEnd {
  kDrained,  // Asked to stop: every lease was given back, or the time is over.
  kUnknown,  // The chief has given this incarnation up: register another one.
};

struct WorkerMachineOptions {
  std::string name;
  Incarnation incarnation{};
  // Says after how many examples that all workers together have trained the chief is told of them.
  ProgressGrain progress_grain;
};

// Thread-compatible.
class WorkerMachine {
 public:
  // `registration` is the chief's answer. `shell` must outlive the machine.
  WorkerMachine(const WorkerMachineOptions& options, const v1::RegisterWorkerReply& registration,
                WorkerShell& shell);
  // For the explorer of the simulation: goes on from where `other` is, but has no trainers yet.
  WorkerMachine(const WorkerMachine& other, WorkerShell& shell);

  // `trainer` must live until RemoveTrainers, or as long as the machine.
  void AddTrainer(TrainerId id, TrainerWork& trainer) { trainers_[id] = &trainer; }
  void RemoveTrainers() { trainers_.clear(); }

  // ---- what happened ----

  // Ignores a view that is not newer, or that does not say where the partitions are when the
  // present one does.
  void OnView(const v1::View& view);
  void OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply, absl::Time now);
  void OnRegistered(const absl::StatusOr<v1::RegisterWorkerReply>& reply);
  // Leases finish the steps that are under way and are given back; the worker's life is over by
  // `deadline`.
  void Drain(absl::Time deadline);

  // ---- what is to be done ----

  // Wakes the leases whose time has come and sends a heartbeat if one is due. Returns how the
  // worker's life ended if it is over, and nullopt otherwise.
  std::optional<WorkerEnd> Turn(absl::Time now);
  absl::Time NextTurn() const;

  // ---- what is so ----

  bool draining() const { return session_.draining(); }
  bool job_over() const;                                     // As the chief said last.
  size_t leases() const { return session_.leases(); }        // How many leases are held.
  const v1::View& view() const { return view_; }             // Empty if no view has come yet.
  const JobProgress& progress() const { return progress_; }  // The address never changes.
  const SessionMachine& session() const { return session_; }

 private:
  void FollowProgress();
  std::vector<ShardIndex> RestartedIn(const v1::View& view) const;
  void ReportAll();
  void SendHeartbeat(absl::Time now);
  void CarryOut(const Orders& orders);
  void RegisterAgain();
  bool IsOfThisWork(const v1::RegisterWorkerReply& reply) const;

  const WorkerMachineOptions options_;
  const std::string job_;  // The job that the work is for, serialized.
  WorkerShell& shell_;
  SessionMachine session_;
  std::map<TrainerId, TrainerWork*> trainers_;
  v1::View view_;
  JobProgress progress_;
  uint64_t trainers_of_all_ = 1;  // How many all workers have, as the chief said last.
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
  bool known_ = true;
  bool registering_ = false;
  absl::Time drain_deadline_ = absl::InfiniteFuture();
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_WORKER_MACHINE_H_
