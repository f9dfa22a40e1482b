// A series: one number, or one histogram, with its labels. Created by a Registry. Updates are
// lock-free and meant for the hot path. Thread-safe.
#ifndef CAPSTAN_METRICS_SERIES_H_
#define CAPSTAN_METRICS_SERIES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace capstan::metrics {

using Labels = std::map<std::string, std::string>;

enum class Kind { kCounter, kGauge, kHistogram };

class Series {
 public:
  explicit Series(Labels labels) : labels_(std::move(labels)) {}
  virtual ~Series() = default;
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  const Labels& labels() const { return labels_; }

 private:
  const Labels labels_;
};

// Never decreases.
class Counter final : public Series {
 public:
  using Series::Series;
  void Add(double by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge final : public Series {
 public:
  using Series::Series;
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram final : public Series {
 public:
  // `bounds`: upper bounds (inclusive), ascending.
  Histogram(Labels labels, std::vector<double> bounds);

  // Adds `times` observations of the same value; NaN counts as above all bounds.
  void Observe(double value, uint64_t times = 1);

  const std::vector<double>& bounds() const { return bounds_; }
  // Returns the number of observations in each bucket, not cumulative: bounds().size() + 1 numbers.
  std::vector<uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_SERIES_H_
