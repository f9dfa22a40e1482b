// The names of the metrics of an evaluation. A job may have several sets of held-out records, and
// its records several labels. The metrics of the first set and the first label have plain names,
// such as "auc"; the names of others are prefixed with their scope, which is the set, the label, or
// both: "recent/auc", "buy/auc", "recent/buy/auc".
#ifndef CAPSTAN_BASE_METRIC_NAME_H_
#define CAPSTAN_BASE_METRIC_NAME_H_

#include <string>
#include <string_view>

namespace capstan {

struct MetricName {
  std::string_view scope;  // Empty: the first set, and its first label.
  std::string_view metric;
};

MetricName ParseMetricName(std::string_view name);
std::string NameMetric(const MetricName& name);

// Returns the scope of a set and a label; either may be empty.
std::string JoinScopes(std::string_view set, std::string_view label);

}  // namespace capstan

#endif  // CAPSTAN_BASE_METRIC_NAME_H_
