// The metrics of a process. `main` creates one Registry and passes it on by reference; code that
// measures keeps references to its series and updates them without a lock.
//
//   Counter& pushes = registry.AddCounter(kServerPushRequests, {{"code", "OK"}});
//   pushes.Add();
#ifndef CAPSTAN_METRICS_REGISTRY_H_
#define CAPSTAN_METRICS_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/metrics/declaration.h"
#include "capstan/metrics/series.h"

namespace prometheus {
struct MetricFamily;
}

namespace capstan::metrics {

// A series is a metric with values for its labels.
//
// Names are part of the product, so their rules are enforced by CHECK: `capstan_` in front, lower
// case, `_total` at the end of counters and of nothing else, a help text, one declaration per
// metric, and in all of its series the labels that this names, in alphabetical order. Label values
// may be any text, but there must be few different ones.
//
// Thread-safe.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Return the series of this metric with these labels, and create it if it does not exist. It
  // lives until it is removed or the registry is destroyed.
  Counter& AddCounter(const CounterDeclaration& metric, const Labels& labels = {});
  Gauge& AddGauge(const GaugeDeclaration& metric, const Labels& labels = {});

  // `bounds`: upper bounds of the buckets, ascending; +Inf is added. See capstan/metrics/buckets.h.
  Histogram& AddHistogram(const HistogramDeclaration& metric, const std::vector<double>& bounds,
                          const Labels& labels = {});

  // Removes a series, for instance that of a worker that has left. The reference is then invalid.
  void Remove(const Series& series);

  // Registers `sample` to be called before each collection, on the thread that collects, for series
  // that are only updated then. What it captures must outlive the last scrape of the registry.
  void BeforeCollect(std::function<void()> sample);

  // Returns the present values of all series, ordered by the names of the metrics.
  std::vector<prometheus::MetricFamily> Collect() const;

  // Returns the same in the text format of a scrape.
  std::string Text() const;

 private:
  struct Metric;
  template <Kind kKind>
  Metric& FindOrAdd(const Declaration<kKind>& declared, const Labels& labels)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::map<std::string, Metric, std::less<>> metrics_ ABSL_GUARDED_BY(mu_);
  std::vector<std::function<void()>> samples_ ABSL_GUARDED_BY(mu_);
};

// Adds capstan_build_info{version,revision} with the value 1.
void AddBuildInfo(Registry& registry);

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_REGISTRY_H_
