#include "capstan/metrics/registry.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/version.h"
#include "capstan/metrics/names.h"

namespace capstan::metrics {
namespace {

constexpr GaugeDeclaration kBuildInfo = {
    .name = "capstan_build_info",
    .help = "What this program was built from; always 1.",
    .labels = "compiler, revision, version",
    .normal = "1; the same labels everywhere, except during an upgrade"};

prometheus::MetricType ToPrometheus(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return prometheus::MetricType::Counter;
    case Kind::kGauge:
      return prometheus::MetricType::Gauge;
    case Kind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

void Fill(const Histogram& from, prometheus::ClientMetric::Histogram& to) {
  const std::vector<uint64_t> counts = from.counts();
  for (size_t i = 0; i < from.bounds().size(); ++i) {
    to.sample_count += counts[i];
    to.bucket.push_back({.cumulative_count = to.sample_count, .upper_bound = from.bounds()[i]});
  }
  to.sample_count += counts.back();
  to.sample_sum = from.sum();
}

prometheus::ClientMetric ToPrometheus(const Series& series, Kind kind) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : series.labels()) metric.label.push_back({name, value});
  switch (kind) {
    case Kind::kCounter:
      metric.counter.value = static_cast<const Counter&>(series).value();
      break;
    case Kind::kGauge:
      metric.gauge.value = static_cast<const Gauge&>(series).value();
      break;
    case Kind::kHistogram:
      Fill(static_cast<const Histogram&>(series), metric.histogram);
      break;
  }
  return metric;
}

// Returns the names of labels in the form of declarations: "code, op".
std::string NamesOf(const Labels& labels) {
  std::string names;
  for (const auto& [name, value] : labels) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

struct Registry::Metric {
  Kind kind;
  std::string help;
  std::string label_names;
  std::map<Labels, std::unique_ptr<Series>> series;
};

Registry::Registry() = default;
Registry::~Registry() = default;

template <Kind kKind>
Registry::Metric& Registry::FindOrAdd(const Declaration<kKind>& declared, const Labels& labels) {
  CAPSTAN_CHECK(IsMetricName(declared.name, kKind));
  CAPSTAN_CHECK(!declared.help.empty());
  for (const auto& [label, value] : labels) CAPSTAN_CHECK(IsLabelName(label));
  std::string label_names = NamesOf(labels);
  CAPSTAN_CHECK(label_names == declared.labels);
  auto found = metrics_.find(declared.name);
  if (found == metrics_.end()) {
    Metric added{kKind, std::string(declared.help), std::move(label_names), {}};
    found = metrics_.emplace(declared.name, std::move(added)).first;
  }
  Metric& metric = found->second;
  CAPSTAN_CHECK(metric.kind == kKind);
  CAPSTAN_CHECK(metric.help == declared.help);
  CAPSTAN_CHECK(metric.label_names == declared.labels);
  return metric;
}

Counter& Registry::AddCounter(const CounterDeclaration& metric, const Labels& labels) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Series>& series = FindOrAdd(metric, labels).series[labels];
  if (series == nullptr) series = std::make_unique<Counter>(labels);
  return static_cast<Counter&>(*series);
}

Gauge& Registry::AddGauge(const GaugeDeclaration& metric, const Labels& labels) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Series>& series = FindOrAdd(metric, labels).series[labels];
  if (series == nullptr) series = std::make_unique<Gauge>(labels);
  return static_cast<Gauge&>(*series);
}

Histogram& Registry::AddHistogram(const HistogramDeclaration& metric,
                                  const std::vector<double>& bounds, const Labels& labels) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Series>& series = FindOrAdd(metric, labels).series[labels];
  if (series == nullptr) series = std::make_unique<Histogram>(labels, bounds);
  auto& histogram = static_cast<Histogram&>(*series);
  CAPSTAN_CHECK(histogram.bounds() == bounds);
  return histogram;
}

void Registry::Remove(const Series& series) {
  absl::MutexLock lock(&mu_);
  for (auto& [name, metric] : metrics_) {
    const auto found = metric.series.find(series.labels());
    if (found == metric.series.end() || found->second.get() != &series) continue;
    metric.series.erase(found);
    return;
  }
}

void Registry::BeforeCollect(std::function<void()> sample) {
  absl::MutexLock lock(&mu_);
  samples_.push_back(std::move(sample));
}

std::vector<prometheus::MetricFamily> Registry::Collect() const {
  std::vector<std::function<void()>> samples;
  {
    absl::MutexLock lock(&mu_);
    samples = samples_;
  }
  for (const auto& sample : samples) sample();
  absl::MutexLock lock(&mu_);
  std::vector<prometheus::MetricFamily> families;
  for (const auto& [name, metric] : metrics_) {
    if (metric.series.empty()) continue;
    families.push_back({name, metric.help, ToPrometheus(metric.kind), {}});
    for (const auto& [labels, series] : metric.series) {
      families.back().metric.push_back(ToPrometheus(*series, metric.kind));
    }
  }
  return families;
}

std::string Registry::Text() const {
  return static_cast<const prometheus::Serializer&>(prometheus::TextSerializer())
      .Serialize(Collect());
}

void AddBuildInfo(Registry& registry) {
  const Labels labels = {{"version", std::string(Version())},
                         {"revision", std::string(Revision())},
                         {"compiler", std::string(Compiler())}};
  registry.AddGauge(kBuildInfo, labels).Set(1);
}

}  // namespace capstan::metrics
