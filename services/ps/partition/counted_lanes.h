// The lanes that the coordinator has counted in the open round, as far as this shard has heard.
#ifndef CAPSTAN_PS_PARTITION_COUNTED_LANES_H_
#define CAPSTAN_PS_PARTITION_COUNTED_LANES_H_

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/lane_counts.h"

namespace capstan::ps {

// *Thread-safe*. Its lock may be taken under a partition's.
class CountedLanes {
 public:
  // Starts over for `timeline`, of which nothing is known yet.
  void Reset(Timeline timeline) {
    absl::MutexLock lock(&mu_);
    counts_ = LaneCounts(timeline);
  }

  // Takes in `news`. Returns false and changes nothing if `timeline` is not the present one.
  bool Learn(Timeline timeline, const LaneNews& news) {
    absl::MutexLock lock(&mu_);
    if (timeline != counts_.timeline()) return false;
    counts_.Learn(news);
    return true;
  }

  void Read(absl::FunctionRef<void(const LaneCounts&)> read) const {
    absl::MutexLock lock(&mu_);
    read(counts_);
  }

 private:
  mutable absl::Mutex mu_;
  LaneCounts counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_COUNTED_LANES_H_
