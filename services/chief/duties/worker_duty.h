// Registers workers, and takes in what they report of themselves. GrantDuty leases work to them,
// and ReportDuty takes in what they report of their leases.
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
  // The caller must revoke the leases of the trainers that the result names as replaced: see
  // GrantDuty::Release.
  absl::StatusOr<Membership::Registration> Register(const v1::RegisterWorkerRequest& request,
                                                    const std::string& peer, absl::Time now);
  // Returns the reply to a worker that has registered.
  v1::RegisterWorkerReply Welcome(const Worker& worker) const;
  // Takes in a heartbeat, and returns its worker. Returns null if the process is not known and has
  // to register, or if another chief has superseded this one.
  Worker* Hear(const v1::WorkerHeartbeatRequest& request, absl::Time now);
  // Fills in what every worker is told, registered or not: how the job goes. A superseded chief
  // only tells workers not to register again (`known`), as the next chief decides that.
  void FillReply(v1::WorkerHeartbeatReply& reply) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WORKER_DUTY_H_
