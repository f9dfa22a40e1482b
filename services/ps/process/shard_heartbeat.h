// How often a shard reports to the chief.
#ifndef CAPSTAN_PS_PROCESS_SHARD_HEARTBEAT_H_
#define CAPSTAN_PS_PROCESS_SHARD_HEARTBEAT_H_

#include <algorithm>

#include "absl/time/time.h"
#include "capstan/base/bounded_seconds.h"
#include "capstan/v1/job.pb.h"

namespace capstan::ps {

// Between two heartbeats, whatever the chief says.
inline constexpr absl::Duration kShortestBeat = absl::Milliseconds(10);
inline constexpr absl::Duration kLongestBeat = absl::Seconds(60);

// Returns the time between two heartbeats of a shard of this job. With replicas a shard serves only
// while it has a lease, which a heartbeat renews in good time.
inline absl::Duration HeartbeatOf(const v1::JobSpec& job) {
  const absl::Duration beat =
      BoundedSeconds(job.lease().heartbeat_seconds(), kShortestBeat, kLongestBeat);
  if (job.replicas() == 0) return beat;
  return std::min(
      beat, BoundedSeconds(job.lease().shard_lease_seconds() / 4, kShortestBeat, kLongestBeat));
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_SHARD_HEARTBEAT_H_
