#include "ps/shard/chief_replies.h"

#include <algorithm>

#include "capstan/base/bounded_seconds.h"
#include "capstan/base/status.h"
#include "capstan/security/seal.h"

namespace capstan::ps {
namespace {

// Limits of the interval between two heartbeats, and of what one of them may grant, whatever the
// chief says.
constexpr absl::Duration kShortestBeat = absl::Milliseconds(10);
constexpr absl::Duration kLongestBeat = absl::Seconds(60);
constexpr absl::Duration kLongestLease = absl::Hours(1);

}  // namespace

absl::Duration HeartbeatOf(const v1::JobSpec& job) {
  const absl::Duration beat =
      BoundedSeconds(job.lease().heartbeat_seconds(), kShortestBeat, kLongestBeat);
  if (job.replicas() == 0) return beat;
  return std::min(
      beat, BoundedSeconds(job.lease().shard_lease_seconds() / 4, kShortestBeat, kLongestBeat));
}

absl::Status LearnFrom(const v1::RegisterShardReply& reply, Shard& shard, Places& places) {
  CAPSTAN_RETURN_IF_ERROR(shard.LearnJob(reply.job()));
  places.Learn({.checkpoints = reply.job().checkpoint().uri(), .from = reply.from()});
  shard.seals().SetSealer(Sealer(reply.seal_key()));
  return absl::OkStatus();
}

void TakeLease(const v1::ShardHeartbeatReply& reply, absl::Time sent, Shard& shard) {
  if (!(reply.lease_seconds() > 0)) return;
  shard.view().SetLease(sent +
                        BoundedSeconds(reply.lease_seconds(), absl::ZeroDuration(), kLongestLease));
}

}  // namespace capstan::ps
