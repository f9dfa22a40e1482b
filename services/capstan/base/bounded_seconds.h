// Lengths of time that a peer has told in seconds. A double on the wire may be anything, and
// absl::Seconds makes an infinite wait of what is no number.
#ifndef CAPSTAN_BASE_BOUNDED_SECONDS_H_
#define CAPSTAN_BASE_BOUNDED_SECONDS_H_

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"

namespace capstan {

// Returns the seconds as a duration from `low` to `high`; what is no number counts as `low`.
// REQUIRES: low <= high.
inline absl::Duration BoundedSeconds(double seconds, absl::Duration low, absl::Duration high) {
  if (std::isnan(seconds)) return low;
  return std::clamp(absl::Seconds(seconds), low, high);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_BOUNDED_SECONDS_H_
