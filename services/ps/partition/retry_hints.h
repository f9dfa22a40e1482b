// When a caller that a shard refuses for the moment should retry. A hint that is shorter than the
// worker's first back-off (Call::Wait) means a very short wait, and does not count as a failure.
#ifndef CAPSTAN_PS_PARTITION_RETRY_HINTS_H_
#define CAPSTAN_PS_PARTITION_RETRY_HINTS_H_

#include "absl/time/time.h"

namespace capstan::ps {

// The queue of a partition is full, or the partition is held back until a copy has been read, or
// too many pulls wait: this ends after some other steps, which take some milliseconds each.
inline constexpr absl::Duration kBusyHint = absl::Milliseconds(50);

// A round is open at the coordinator but not here yet: its commit comes with the first request of
// another worker, which is already on its way.
inline constexpr absl::Duration kNotYetHint = absl::Milliseconds(20);

// The shard has no memory left: other requests, which are large, have to finish first.
inline constexpr absl::Duration kNoRoomHint = absl::Milliseconds(100);

// The shard has not heard from the chief for the length of its lease: its next heartbeat renews the
// lease, or a view names another owner. Neither happens at once.
inline constexpr absl::Duration kNoLeaseHint = absl::Milliseconds(100);

// The partition is frozen for a move. That is short; if it has taken longer, something is slow, and
// frequent retries would not help.
inline absl::Duration FrozenHint(absl::Duration frozen_for) {
  return frozen_for < absl::Seconds(1) ? absl::Milliseconds(5) : kBusyHint;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_RETRY_HINTS_H_
