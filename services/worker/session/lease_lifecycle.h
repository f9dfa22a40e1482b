// The lifecycle of a lease, apart from how its work is carried out: it hands events to the runner
// machine in their order, and makes the reports of the lease to the chief. A shell carries the
// machine's actions out.
#ifndef CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_
#define CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "capstan/base/ids.h"
#include "capstan/data/feed/batch_prefetcher.h"
#include "capstan/v1/chief.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// Tells what is known so far of the tasks of a lease, which become known as they are read.
class TasksRead {
 public:
  virtual ~TasksRead() = default;

  // TakeDone returns those tasks of a lane whose batches all lie below `cursor`, each task in one
  // call only. HasDone says whether there are such. tasks_known is the ordinal after the last known
  // task.
  virtual std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) = 0;
  virtual bool HasDone(uint64_t cursor) const = 0;
  virtual uint64_t tasks_known() const = 0;
  // Returns the only task of a lease that is no lane, as far as it has been read.
  virtual FedTask OnlyTask() const = 0;
};

// Thread-compatible.
class LeaseLifecycle {
 public:
  // `max_rounds`: how many rounds the job has; 0: any number. `tasks` must outlive this object.
  LeaseLifecycle(v1::Lease lease, uint64_t max_rounds, std::unique_ptr<RunnerMachine> machine,
                 TasksRead& tasks);
  // For the explorer of the simulation: goes on from where `other` is, with a copy of its machine.
  // REQUIRES: no event is being handled.
  LeaseLifecycle(const LeaseLifecycle& other, TasksRead& tasks);

  const v1::Lease& lease() const { return lease_; }
  const Generation& generation() const { return generation_; }
  RunnerMachine& machine() { return *machine_; }
  const RunnerMachine& machine() const { return *machine_; }

  // Calls handle(event) when all events before it have been handled: a call from within `handle`,
  // for an action may bring about the next event at once, only queues the event. Does nothing once
  // the machine is over.
  void Deliver(Event event, absl::FunctionRef<void(const Event&)> handle);

  // ---- what has happened, beside the machine's events ----

  void OnOpened(const OpenDone& done);
  // The machine has said Finished. Returns true if the lease is over. Returns false for a lane
  // whose tasks are still to be read up to their end, since the chief is told of each task; call
  // End() after that.
  bool OnFinished(const Finished& finished);
  void End() { over_ = true; }
  // The lease has failed: `why`. `bad_data`: no other worker could do better.
  void Fail(const absl::Status& why, bool bad_data);
  // The chief has sent the lane's tasks again: reports need not name tasks before the first of
  // these.
  void OnExtended(const v1::Lease& lease);

  // ---- what is so ----

  // The machine has said Finished, or the lease failed.
  bool machine_over() const { return machine_over_; }
  bool over() const { return over_; }  // Also, all that is to be reported is known.
  bool lost() const { return lost_; }
  bool HasNews() const { return news_; }
  // The report to the chief, without what LeaseResults adds: losses that are not finite, and
  // results of evaluations.
  v1::LeaseReport Report();

  // For the explorer of the simulation: the state in one line, equal for equal states.
  std::string DebugString() const;

 private:
  static void FillTask(const FedTask& task, v1::LeaseReport& report);

  const v1::Lease lease_;
  const Generation generation_;
  const uint64_t max_rounds_;
  const std::unique_ptr<RunnerMachine> machine_;
  TasksRead& tasks_;
  std::deque<Event> events_;
  bool delivering_ = false;
  std::vector<v1::LaneTaskDone> tasks_done_;
  uint64_t round_ = 0;   // The open round, as the coordinator said last.
  uint64_t closed_ = 0;  // How many of the lane's batches are in closed rounds.
  bool news_ = false;    // There is news since the last report.
  bool machine_over_ = false;
  bool over_ = false;
  bool lost_ = false;
  bool returned_ = false;
  absl::Status failure_;
  bool bad_data_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_
