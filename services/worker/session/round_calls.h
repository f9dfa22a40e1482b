// What a lane's runner asks the coordinator, and what it hears, as messages of the wire. Of each
// request the caller adds the header.
#ifndef CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_
#define CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

v1::OpenRoundRequest ToRequest(const SendOpen& action);
v1::ReportLaneRequest ToRequest(const SendReport& action);

// The event's status is the call's, or says that the round commit in the reply is none.
OpenDone ToEvent(Ticket ticket, const absl::StatusOr<v1::OpenRoundReply>& reply);
ReportDone ToEvent(Ticket ticket, const absl::StatusOr<v1::ReportLaneReply>& reply);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_
