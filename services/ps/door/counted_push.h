// Counts a push in the metrics of its shard.
#ifndef CAPSTAN_PS_DOOR_COUNTED_PUSH_H_
#define CAPSTAN_PS_DOOR_COUNTED_PUSH_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "ps/partition/rejection.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {

// One push, counted from when it has arrived completely until it is answered. Copies of this object
// refer to the same push.
class CountedPush {
 public:
  // `metrics` must outlive this object. `bytes`: the size of the request.
  CountedPush(ShardMetrics& metrics, size_t bytes) : metrics_(metrics), bytes_(bytes) {
    metrics_.AddInFlight(1);
  }

  // The push has been answered. Must be called once, on any of the copies.
  void End(const absl::Status& status, size_t reply_bytes) const {
    if (!status.ok()) metrics_.CountRejected(ReasonOf(status));
    metrics_.CountRequest({Method::kPush, status.code(), SteadyClock().Now() - begin_, bytes_,
                           status.ok() ? reply_bytes : 0});
    metrics_.AddInFlight(-1);
  }

 private:
  ShardMetrics& metrics_;
  const absl::Time begin_ = SteadyClock().Now();
  const size_t bytes_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_COUNTED_PUSH_H_
