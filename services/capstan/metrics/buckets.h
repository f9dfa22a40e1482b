// The histogram buckets of the metrics in docs/metrics.md. The same quantity has the same buckets
// everywhere, so that series can be added up.
#ifndef CAPSTAN_METRICS_BUCKETS_H_
#define CAPSTAN_METRICS_BUCKETS_H_

#include <vector>

namespace capstan::metrics {

// Seconds, 0.25 ms to 5 s: requests, phases of a step.
std::vector<double> DurationBuckets();

// 0, 1, 2, 4 ... 4096: staleness and lag, in versions or clocks.
std::vector<double> DistanceBuckets();

// Seconds, 1 ms to 60 s: waits, ages.
std::vector<double> WaitBuckets();

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_BUCKETS_H_
