#include "worker/session/round_calls.h"

#include <utility>

#include "capstan/consistency/generation.h"
#include "capstan/consistency/round_commit.h"

namespace capstan::worker {

v1::OpenRoundRequest ToRequest(const SendOpen& action) {
  v1::OpenRoundRequest request;
  request.set_lane(Raw(action.lane));
  ToProto(action.generation, *request.mutable_generation());
  request.set_wait_seconds(absl::ToDoubleSeconds(action.wait));
  return request;
}

v1::ReportLaneRequest ToRequest(const SendReport& action) {
  v1::ReportLaneRequest request;
  request.set_lane(Raw(action.lane));
  ToProto(action.generation, *request.mutable_generation());
  request.set_round(action.round);
  request.set_examples(action.examples);
  request.set_end_of_data(action.end_of_data);
  return request;
}

OpenDone ToEvent(Ticket ticket, const absl::StatusOr<v1::OpenRoundReply>& reply) {
  OpenDone event{.ticket = ticket, .status = reply.status()};
  if (!reply.ok()) return event;
  absl::StatusOr<RoundCommit> closed = RoundCommitFromProto(reply->closed());
  event.status = closed.status();
  event.answer = reply->answer();
  event.round = reply->round();
  event.cursor = reply->cursor();
  if (closed.ok()) event.closed = *std::move(closed);
  return event;
}

ReportDone ToEvent(Ticket ticket, const absl::StatusOr<v1::ReportLaneReply>& reply) {
  ReportDone event{.ticket = ticket, .status = reply.status()};
  if (reply.ok()) event.answer = reply->answer();
  return event;
}

}  // namespace capstan::worker
