// One trainer at work, as its worker sees it.
#ifndef CAPSTAN_WORKER_SESSION_TRAINER_WORK_H_
#define CAPSTAN_WORKER_SESSION_TRAINER_WORK_H_

#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"
#include "worker/session/held_leases.h"

namespace capstan::worker {

// Thread-compatible.
class TrainerWork {
 public:
  virtual ~TrainerWork() = default;

  virtual HeldLeases& leases() = 0;
  // There is a newer view, by which the trainer's leases go from now on. `restarted`: the shards
  // with a new incarnation.
  virtual void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) = 0;
  // How long one of the trainer's steps takes, in seconds, as the chief is told.
  virtual double StepSeconds() const = 0;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_TRAINER_WORK_H_
