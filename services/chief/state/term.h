// Terms of chiefs, and numbers that are unique across the terms of a job.
#ifndef CAPSTAN_CHIEF_STATE_TERM_H_
#define CAPSTAN_CHIEF_STATE_TERM_H_

#include <cstdint>

#include "absl/time/time.h"

namespace capstan::chief {

// The term has the upper 42 bits: enough for the milliseconds of a century (see TermByTime).
inline constexpr int kNumberBits = 22;
inline constexpr uint64_t kMostNumbers = (uint64_t{1} << kNumberBits) - 1;

// REQUIRES: 1 <= number <= kMostNumbers.
constexpr uint64_t NumberInTerm(uint64_t term, uint64_t number) {
  return term << kNumberBits | number;
}
constexpr uint64_t TermOfNumber(uint64_t number) { return number >> kNumberBits; }

// Returns the term of a chief that stores no state: the time of day in milliseconds. It is greater
// than the terms and timelines of all earlier chiefs: each of these started, and began each of its
// timelines, at least a millisecond earlier.
inline uint64_t TermByTime(absl::Time now) {
  return static_cast<uint64_t>(absl::ToUnixMillis(now));
}

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_TERM_H_
