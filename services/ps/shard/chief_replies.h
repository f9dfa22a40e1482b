// What a shard does with the chief's replies to its calls.
#ifndef CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_
#define CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "ps/shard/places.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Returns how often a shard of the job tells the chief of itself, whatever the job says. With
// replicas a shard serves only while it has a lease, which a heartbeat renews in good time.
absl::Duration HeartbeatOf(const v1::JobSpec& job);

// Takes up what the chief tells a shard that registers: the job's settings, where its checkpoints
// are, and the key of its seals. The errors are those of Shard::LearnJob; nothing is taken up then.
absl::Status LearnFrom(const v1::RegisterShardReply& reply, Shard& shard, Places& places);

// Takes up the lease that the chief grants in its reply to a heartbeat, which was sent at `sent`.
void TakeLease(const v1::ShardHeartbeatReply& reply, absl::Time sent, Shard& shard);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_CHIEF_REPLIES_H_
