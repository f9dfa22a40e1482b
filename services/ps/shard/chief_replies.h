// How a shard applies the chief's replies to its calls.
#ifndef CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_
#define CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "ps/shard/places.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Returns the interval at which a shard of the job sends heartbeats to the chief. With replicas it
// is short enough to renew the shard's lease in good time, whatever the job says.
absl::Duration HeartbeatOf(const v1::JobSpec& job);

// Applies the chief's reply to a registration: the job's settings, where its checkpoints are, and
// the key of its seals. The errors are those of Shard::LearnJob; then nothing is applied.
absl::Status LearnFrom(const v1::RegisterShardReply& reply, Shard& shard, Places& places);

// Applies the lease in the chief's reply to a heartbeat that was sent at `sent`.
void TakeLease(const v1::ShardHeartbeatReply& reply, absl::Time sent, Shard& shard);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_
