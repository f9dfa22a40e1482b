#include "capstan/metrics/series.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "capstan/base/check.h"

namespace capstan::metrics {

Histogram::Histogram(Labels labels, std::vector<double> bounds)
    : Series(std::move(labels)),
      bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {
  CAPSTAN_CHECK(std::is_sorted(bounds_.begin(), bounds_.end(), std::less_equal<>()));
}

void Histogram::Observe(double value, uint64_t times) {
  // NaN is within no bound.
  const auto beyond = [value](double bound) { return !(value <= bound); };
  const auto bucket =
      std::partition_point(bounds_.begin(), bounds_.end(), beyond) - bounds_.begin();
  counts_[bucket].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
}

std::vector<uint64_t> Histogram::counts() const {
  std::vector<uint64_t> counts(bounds_.size() + 1);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace capstan::metrics
