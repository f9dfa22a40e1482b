// Durations that a peer sends in seconds. A double on the wire may have any value, and
// absl::Seconds turns a NaN into an infinite duration.
#ifndef CAPSTAN_BASE_BOUNDED_SECONDS_H_
#define CAPSTAN_BASE_BOUNDED_SECONDS_H_

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"

namespace capstan {

// Returns the seconds as a duration, clamped to [low, high]; a NaN becomes `low`. REQUIRES:
// low <= high.
inline absl::Duration BoundedSeconds(double seconds, absl::Duration low, absl::Duration high) {
  if (std::isnan(seconds)) return low;
  return std::clamp(absl::Seconds(seconds), low, high);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_BOUNDED_SECONDS_H_
