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

  // What happens to it from outside: it is to be given back, it is lost, its time has come.
  virtual void Deliver(Event event) = 0;
  // Further tasks of the lane, from the first that the chief does not know to be done.
  virtual void Extend(const v1::Lease& lease) = 0;
  // There is a newer view; `restarted`: the shards with a new incarnation.
  virtual void OnView(const std::vector<ShardIndex>& restarted) = 0;

  // When it is to be woken by a Tick, for waits and retries.
  virtual absl::Time NextWake() const = 0;
  // The work is over: finished, returned, lost or failed.
  virtual bool over() const = 0;
  // The chief shall not wait for the next heartbeat to hear of it: a task of the lane is done, the
  // job's last round is closed. Until the next Report.
  virtual bool HasNews() const = 0;
  // What the chief is told. A lane's finished tasks are told until it is seen to know of them.
  virtual v1::LeaseReport Report() = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_LEASE_WORK_H_
