// What a caller of a shard may ask for, according to its certificate and its address. `may_train`
// and `may_act` are the results of MayTrain and MayActForShard in capstan/rpc/caller.h.
#ifndef CAPSTAN_PS_DOOR_CALLER_CHECK_H_
#define CAPSTAN_PS_DOOR_CALLER_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/ps.pb.h"
#include "ps/door/session_shares.h"

namespace capstan::ps {

// PERMISSION_DENIED: the caller is not a worker of the job, and the pull is not an evaluation.
// Evaluation pulls create no rows and wait for no round; other callers need only these.
inline absl::Status CheckPuller(bool may_train, const v1::PullRequest& head) {
  if (head.evaluation() || may_train) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "the client's certificate is not a worker's: it may pull with `evaluation` only");
}

// PERMISSION_DENIED: the caller is not a worker of the job, and the push names a trainer, a clock,
// a lane or the stream of a task. Only a worker, which holds the lease, may name those; other
// callers push to a session of their own.
inline absl::Status CheckPusher(bool may_train, const v1::PushRequest& head) {
  if (may_train) return absl::OkStatus();
  const bool of_task = head.has_stream() && !StreamId{head.stream().stream()}.is_session();
  const char* const named = head.header().trainer() != 0 ? "no trainer"
                            : head.header().clock() != 0 ? "no clock"
                            : head.has_stage()           ? "no lane"
                            : of_task                    ? "a session and no task"
                                                         : nullptr;
  if (named == nullptr) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the client's certificate is not a worker's: its pushes name ", named));
}

// The same check for a piece of a push, of which only the header is known at this time.
inline absl::Status CheckPusher(bool may_train, const v1::PushPieceRequest& piece) {
  v1::PushRequest head;
  *head.mutable_header() = piece.header();
  return CheckPusher(may_train, head);
}

// PERMISSION_DENIED: the call claims to come from `shard`, which sends a copy of a partition or an
// operation on it, but the caller's certificate is that of another shard.
inline absl::Status CheckSender(bool may_act, uint32_t shard) {
  if (may_act) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("the certificate is of another shard than ",
                                                  shard, ", in whose name the call is"));
}

// RESOURCE_EXHAUSTED: the push is of a new session, and there are too many.
inline absl::Status CheckSession(const grpc::CallbackServerContext& context,
                                 const v1::PushRequest& head, SessionShares& sessions) {
  const StreamId stream{head.stream().stream()};
  if (!head.has_stream() || !stream.is_session() ||
      sessions.Takes(stream, PeerHost(context), SteadyClock().Now())) {
    return absl::OkStatus();
  }
  return WithRetryAfter(
      absl::ResourceExhaustedError(absl::StrCat(
          "this shard keeps ", StreamLedger::kMaxSessions,
          " sessions of pushes, of one host half as many, each until it is silent for an hour")),
      absl::Seconds(1));
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_CALLER_CHECK_H_
