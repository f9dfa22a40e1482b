// What workers say of themselves: they register, and are heard of. What they work on is leased to
// them by GrantDuty, and what they say of their leases is taken in by ReportDuty.
#ifndef CAPSTAN_CHIEF_DUTIES_WORKER_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_WORKER_DUTY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/membership.h"

namespace capstan::chief {

class WorkerDuty : public Duty {
 public:
  using Duty::Duty;

  // FAILED_PRECONDITION: another wire version. The other errors are those of Membership::Register.
  // The trainers that it names as replaced lose what they hold: see GrantDuty::Release.
  absl::StatusOr<Membership::Registration> Register(const v1::RegisterWorkerRequest& request,
                                                    const std::string& peer, absl::Time now);
  // Returns what a worker is told that has registered.
  v1::RegisterWorkerReply Welcome(const Worker& worker) const;
  // Takes in what a worker says of itself. Null: this process is not known, and is to register; or
  // another chief has superseded this one.
  Worker* Hear(const v1::WorkerHeartbeatRequest& request, absl::Time now);
  // What every worker is told at its heartbeat, known or not: how the job goes. A chief that has
  // been superseded says only that nobody needs to register, for the next one knows better.
  void FillReply(v1::WorkerHeartbeatReply& reply) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WORKER_DUTY_H_
