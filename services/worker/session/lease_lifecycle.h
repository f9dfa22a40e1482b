// The lifecycle of a lease, apart from how its work is carried out: events reach the runner machine
// in their order, and the chief is told what has come of them. A shell carries the machine's
// actions out.
#ifndef CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_
#define CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "capstan/base/ids.h"
#include "capstan/data/feed/batch_prefetcher.h"
#include "capstan/v1/chief.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// Tells what a lease's tasks have brought so far, as they are read.
class TasksRead {
 public:
  virtual ~TasksRead() = default;

  // A lane's tasks whose batches all lie below `cursor`, each named by one call only; whether there
  // are such; and the ordinal after the last task that is known.
  virtual std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) = 0;
  virtual bool HasDone(uint64_t cursor) const = 0;
  virtual uint64_t tasks_known() const = 0;
  // Returns the only task of a lease that is no lane, as far as it has been read.
  virtual FedTask OnlyTask() const = 0;
};

// Thread-compatible.
class LeaseLifecycle {
 public:
  // `max_rounds`: of the job; 0: any number. `tasks` must outlive this.
  LeaseLifecycle(v1::Lease lease, uint64_t max_rounds, std::unique_ptr<RunnerMachine> machine,
                 TasksRead& tasks);

  const v1::Lease& lease() const { return lease_; }
  const Generation& generation() const { return generation_; }
  RunnerMachine& machine() { return *machine_; }
  const RunnerMachine& machine() const { return *machine_; }

  // Calls handle(event), once those that wait before it have been handled: one at a time, for an
  // action may bring about the next event at once. Nothing happens once the machine is over.
  void Deliver(Event event, absl::FunctionRef<void(const Event&)> handle);

  // ---- what has happened, beside the machine's events ----

  void OnOpened(const OpenDone& done);
  // The machine has said so. True: the work is over. False: a lane's tasks are still to be read up
  // to their end, for the chief is told of each; then End().
  bool OnFinished(const Finished& finished);
  void End() { over_ = true; }
  // `bad_data`: no other worker could do better.
  void Fail(const absl::Status& why, bool bad_data);
  // The chief does not need to hear any more of the tasks before the first of these.
  void OnExtended(const v1::Lease& lease);

  // ---- what is so ----

  bool machine_over() const { return machine_over_; }  // It has said Finished.
  bool over() const { return over_; }                  // And there is nothing to wait for.
  bool lost() const { return lost_; }
  bool HasNews() const { return news_; }
  // All but what only the shell knows: losses that are no numbers, and results of evaluations.
  v1::LeaseReport Report();

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
  uint64_t round_ = 0;   // Open, as far as the coordinator has told.
  uint64_t closed_ = 0;  // So many of the lane's batches are in rounds that have been closed.
  bool news_ = false;    // Since the last report.
  bool machine_over_ = false;
  bool over_ = false;
  bool lost_ = false;
  bool returned_ = false;
  absl::Status failure_;
  bool bad_data_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_LIFECYCLE_H_
