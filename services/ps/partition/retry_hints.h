// When a caller that a shard refuses for a while should come again. A hint below the worker's first
// back-off (Call::Wait) means a moment, and counts as no failure.
#ifndef CAPSTAN_PS_PARTITION_RETRY_HINTS_H_
#define CAPSTAN_PS_PARTITION_RETRY_HINTS_H_

#include "absl/time/time.h"

namespace capstan::ps {

// The queue of a partition is full, or it is held back until a copy has been read, or too many
// pulls wait: gone after some other steps, which take some milliseconds each.
inline constexpr absl::Duration kBusyHint = absl::Milliseconds(50);

// A round is open at the coordinator and not here yet: its commit comes with the first request of
// another worker, which is on its way already.
inline constexpr absl::Duration kNotYetHint = absl::Milliseconds(20);

// The shard's memory has no room: others have to finish their requests first, which are large.
inline constexpr absl::Duration kNoRoomHint = absl::Milliseconds(100);

// The shard has not heard from the chief for its lease: its next heartbeat renews the lease, or a
// view names another owner; neither comes at once.
inline constexpr absl::Duration kNoLeaseHint = absl::Milliseconds(100);

// The partition is frozen for a move. That takes a moment; where it has taken longer, something is
// slow, and asking often helps nobody.
inline absl::Duration FrozenHint(absl::Duration frozen_for) {
  return frozen_for < absl::Seconds(1) ? absl::Milliseconds(5) : kBusyHint;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_RETRY_HINTS_H_
