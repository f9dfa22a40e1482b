// What a metric of an evaluation is called. A job may have several sets of held-out records: the
// metrics of the first one are told by their names alone, "auc", those of the others as
// "recent/auc".
#ifndef CAPSTAN_BASE_METRIC_NAME_H_
#define CAPSTAN_BASE_METRIC_NAME_H_

#include <string>
#include <string_view>

namespace capstan {

struct MetricName {
  std::string_view set;  // Empty: the first one.
  std::string_view metric;
};

MetricName ParseMetricName(std::string_view name);
std::string NameMetric(const MetricName& name);

}  // namespace capstan

#endif  // CAPSTAN_BASE_METRIC_NAME_H_
