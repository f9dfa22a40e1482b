// Decides when a waiting process should log that it is still waiting: after five seconds, then
// after pauses that double each time, up to a minute.
#ifndef CAPSTAN_PROCESS_REMINDER_H_
#define CAPSTAN_PROCESS_REMINDER_H_

#include <algorithm>

#include "absl/time/time.h"

namespace capstan {

// Thread-compatible.
class Reminder {
 public:
  // `began` is when the wait began.
  explicit Reminder(absl::Time began) : next_(began + kFirst) {}

  // Returns true if the caller should log now that it waits. Then the next pause begins.
  bool Due(absl::Time now) {
    if (now < next_) return false;
    pause_ = std::min(2 * pause_, kLongest);
    next_ = now + pause_;
    return true;
  }

 private:
  static constexpr absl::Duration kFirst = absl::Seconds(5);
  static constexpr absl::Duration kLongest = absl::Minutes(1);

  absl::Duration pause_ = kFirst;
  absl::Time next_;
};

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_REMINDER_H_
