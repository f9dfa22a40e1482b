// What a caller of a shard may ask for, by its certificate and its address.
#ifndef CAPSTAN_PS_SHARD_CALLER_CHECK_H_
#define CAPSTAN_PS_SHARD_CALLER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/session_shares.h"

namespace capstan::ps {

// Whoever is no worker of the job looks at its parameters, and its looks are of no consequence.
inline absl::Status CheckPuller(const grpc::CallbackServerContext& context,
                                const v1::PullRequest& head) {
  if (head.evaluation() || MayTrain(context)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "the client's certificate is not a worker's: it may pull with `evaluation` only");
}

// A push finishes the clock of the trainer that it names, so its name is a worker's to say.
inline absl::Status CheckPusher(const grpc::CallbackServerContext& context,
                                const v1::RequestHeader& header) {
  if (header.trainer() == 0 || MayTrain(context)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "the client's certificate is not a worker's: its pushes name no trainer");
}

// RESOURCE_EXHAUSTED: the push is of a session for which there is no room.
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

#endif  // CAPSTAN_PS_SHARD_CALLER_CHECK_H_
