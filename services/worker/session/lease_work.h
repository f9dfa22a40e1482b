// One lease at work, as its trainer sees it.
#ifndef CAPSTAN_WORKER_SESSION_LEASE_WORK_H_
#define CAPSTAN_WORKER_SESSION_LEASE_WORK_H_

#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// Thread-compatible.
class LeaseWork {
 public:
  virtual ~LeaseWork() = default;

  // Hands the lease an event from outside: it is revoked, it is to be given back, or its time has
  // come.
  virtual void Deliver(Event event) = 0;
  // `lease` names the lane's tasks anew, from the first that the chief does not know to be done.
  virtual void Extend(const v1::Lease& lease) = 0;
  // There is a newer view. `restarted`: the shards with a new incarnation.
  virtual void OnView(const std::vector<ShardIndex>& restarted) = 0;

  // When Deliver(Tick()) is to be called, for waits and retries.
  virtual absl::Time NextWake() const = 0;
  // The work is over: finished, returned, lost or failed.
  virtual bool over() const = 0;
  // Every batch of the lease's task has been read, and its records have been let go of.
  virtual bool HasReadAll() const = 0;
  // Returns true if the chief should hear of this lease before the next regular heartbeat: a task
  // of the lane is done, or the job's last round is closed. Report() sets it back to false.
  virtual bool HasNews() const = 0;
  // Returns what the chief is told. A lane's finished tasks are in each report until Extend() shows
  // that the chief knows of them.
  virtual v1::LeaseReport Report() = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_WORK_H_
