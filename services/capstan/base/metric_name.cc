#include "capstan/base/metric_name.h"

#include <cstddef>

namespace capstan {
namespace {

std::string Join(std::string_view before, std::string_view behind) {
  std::string text(before);
  if (!before.empty() && !behind.empty()) text += '/';
  return text += behind;
}

}  // namespace

MetricName ParseMetricName(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == name.npos) return {.metric = name};
  return {.scope = name.substr(0, slash), .metric = name.substr(slash + 1)};
}

std::string NameMetric(const MetricName& name) { return Join(name.scope, name.metric); }

std::string JoinScopes(std::string_view set, std::string_view label) { return Join(set, label); }

}  // namespace capstan
