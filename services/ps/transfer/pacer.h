// Limits the rate at which all senders together send.
#ifndef CAPSTAN_PS_TRANSFER_PACER_H_
#define CAPSTAN_PS_TRANSFER_PACER_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace capstan::ps {

// *Thread-safe*.
class Pacer {
 public:
  // Sets the limit; 0: no limit.
  void SetRate(uint64_t bytes_per_second) {
    absl::MutexLock lock(&mu_);
    rate_ = bytes_per_second;
    if (rate_ == 0) next_ = absl::InfinitePast();
  }

  // Reserves `bytes`. Returns the time from which they may be sent: after the time that all bytes
  // reserved before take.
  absl::Time Book(uint64_t bytes, absl::Time now) {
    absl::MutexLock lock(&mu_);
    const absl::Time from = std::max(now, next_);
    if (rate_ > 0) {
      next_ = from + absl::Seconds(static_cast<double>(bytes) / static_cast<double>(rate_));
    }
    return from;
  }

 private:
  absl::Mutex mu_;
  uint64_t rate_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time next_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_PACER_H_
