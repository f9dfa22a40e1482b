// How long the chief waits before it retries what has failed.
#ifndef CAPSTAN_CHIEF_STATE_PAUSE_H_
#define CAPSTAN_CHIEF_STATE_PAUSE_H_

#include <algorithm>

#include "absl/time/time.h"

namespace capstan::chief {

// Returns `first`, doubled for each of `failures` (failures in a row), but at most `longest`.
inline absl::Duration PauseAfter(int failures, absl::Duration first, absl::Duration longest) {
  constexpr int kMostDoublings = 8;
  return std::min(longest, first * (1 << std::min(failures, kMostDoublings)));
}

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_PAUSE_H_
