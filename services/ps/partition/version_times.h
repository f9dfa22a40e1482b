// When the last versions of a part were created, to find out how old the parameters are from which
// a gradient was computed.
#ifndef CAPSTAN_PS_PARTITION_VERSION_TIMES_H_
#define CAPSTAN_PS_PARTITION_VERSION_TIMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace capstan::ps {

// *Thread-compatible*.
class VersionTimes {
 public:
  VersionTimes() { times_.fill(absl::InfinitePast()); }

  void Made(uint64_t version, absl::Time now) { times_[version % kKept] = now; }

  // Returns how long ago the version `pulled` was replaced in a part that is at `version`; 0 if it
  // has not been replaced. A version that is more than kKept versions old, or was created on
  // another shard before the part came here, counts as replaced when the oldest known version was
  // created.
  absl::Duration Age(uint64_t pulled, uint64_t version, absl::Time now) const {
    if (pulled >= version) return absl::ZeroDuration();
    const uint64_t oldest = version < kKept ? 1 : version - kKept + 1;
    for (uint64_t next = std::max(pulled + 1, oldest); next <= version; ++next) {
      const absl::Time made = times_[next % kKept];
      if (made != absl::InfinitePast()) return now - made;
    }
    return absl::ZeroDuration();
  }

 private:
  static constexpr uint64_t kKept = 32;
  std::array<absl::Time, kKept> times_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_VERSION_TIMES_H_
