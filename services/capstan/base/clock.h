// The source of time, so that tests can inject it and need not sleep.
#ifndef CAPSTAN_BASE_CLOCK_H_
#define CAPSTAN_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace capstan {

// Monotonic: it is not the time of day, and not affected when that is set. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The machine's monotonic clock. Thread-safe.
class SteadyClock : public Clock {
 public:
  absl::Time Now() const override;
};

// Advances only when told to. Thread-safe.
class FakeClock : public Clock {
 public:
  absl::Time Now() const override;
  void Advance(absl::Duration by);

 private:
  mutable absl::Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::UnixEpoch() + absl::Hours(1);
};

}  // namespace capstan

#endif  // CAPSTAN_BASE_CLOCK_H_
