// The calls of a lane's runner to the coordinator and their answers, as messages of the wire. The
// caller adds the header of each request.
#ifndef CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_
#define CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// How long an OpenRound call may take beyond the wait that it asks the coordinator for, and how
// long a ReportLane call may take.
inline constexpr absl::Duration kOpenSlack = absl::Seconds(3);
inline constexpr absl::Duration kReportTimeout = absl::Seconds(5);

v1::OpenRoundRequest ToRequest(const SendOpen& action);
v1::ReportLaneRequest ToRequest(const SendReport& action);

// The event's status is the call's, or an error if the round commit in the reply is malformed.
OpenDone ToEvent(Ticket ticket, const absl::StatusOr<v1::OpenRoundReply>& reply);
ReportDone ToEvent(Ticket ticket, const absl::StatusOr<v1::ReportLaneReply>& reply);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_ROUND_CALLS_H_
