// A lock that measures how long it waits for a partition that other requests are using.
#ifndef CAPSTAN_PS_PARTITION_TIMED_LOCK_H_
#define CAPSTAN_PS_PARTITION_TIMED_LOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {

// Holds the mutex until it is destroyed. Reads the clock only if the mutex is not free. *Confined
// to its scope*.
class ABSL_SCOPED_LOCKABLE TimedLock {
 public:
  // Both must outlive this object.
  TimedLock(absl::Mutex& mu, ShardMetrics& metrics) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    if (mu_.TryLock()) return;
    const absl::Time begun = SteadyClock().Now();
    mu_.Lock();
    metrics.AddLockWait(SteadyClock().Now() - begun);
  }
  ~TimedLock() ABSL_UNLOCK_FUNCTION() { mu_.Unlock(); }
  TimedLock(const TimedLock&) = delete;
  TimedLock& operator=(const TimedLock&) = delete;

 private:
  absl::Mutex& mu_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_TIMED_LOCK_H_
