// What a worker process exports. worker_metric_declarations.h says what is normal.
#ifndef CAPSTAN_WORKER_SHELL_WORKER_METRICS_H_
#define CAPSTAN_WORKER_SHELL_WORKER_METRICS_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/metrics/registry.h"
#include "worker/shell/idle_time.h"

namespace capstan::worker {

// The counters and histograms are thread-safe; CountRetry is confined to the event loop.
class WorkerMetrics {
 public:
  // `registry` must outlive this object.
  explicit WorkerMetrics(metrics::Registry& registry);

  void CountRetry(ShardIndex shard, absl::StatusCode code);
  // Counts the time for which a compute thread stood idle before a step. `of_lane`: the step is a
  // lane's.
  void CountIdle(const IdleTime& idle, bool of_lane);

  metrics::Counter& steps;
  metrics::Counter& samples;
  metrics::Counter& evaluated_samples;
  metrics::Counter& nonfinite;
  metrics::Counter& clipped;
  metrics::Counter& late_gradients;
  metrics::Counter& leases_finished;
  metrics::Counter& leases_lost;
  metrics::Histogram& data_seconds;
  metrics::Histogram& pull_seconds;
  metrics::Histogram& compute_seconds;
  metrics::Histogram& push_seconds;
  metrics::Histogram& round_wait_seconds;
  metrics::Histogram& gradient_norm;
  metrics::Gauge& leases_held;
  metrics::Gauge& compute_threads;
  metrics::Gauge& data_stalled_seconds;

 private:
  metrics::Registry& registry_;
  metrics::Counter& idle_for_work_;
  metrics::Counter& idle_for_data_;
  metrics::Counter& idle_for_round_;
  metrics::Counter& idle_for_push_;
  metrics::Counter& idle_for_pull_;
  std::map<std::pair<ShardIndex, absl::StatusCode>, metrics::Counter*> retries_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_WORKER_METRICS_H_
