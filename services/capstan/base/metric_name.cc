#include "capstan/base/metric_name.h"

#include <cstddef>

namespace capstan {

MetricName ParseMetricName(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == name.npos) return {.metric = name};
  return {.set = name.substr(0, slash), .metric = name.substr(slash + 1)};
}

std::string NameMetric(const MetricName& name) {
  std::string text(name.set);
  if (!name.set.empty()) text += '/';
  return text += name.metric;
}

}  // namespace capstan
