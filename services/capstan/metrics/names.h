// The rules of naming: what every dashboard, alert and page relies on.
#ifndef CAPSTAN_METRICS_NAMES_H_
#define CAPSTAN_METRICS_NAMES_H_

#include <string_view>

#include "capstan/metrics/series.h"

namespace capstan::metrics {

// `capstan_` in front; lower case letters, digits and single underscores; `_total` at the end of a
// counter and of nothing else; and none of the endings that a histogram's own series have.
bool IsMetricName(std::string_view name, Kind kind);

// Lower case letters, digits, underscores; not `le`, which belongs to histograms.
bool IsLabelName(std::string_view name);

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_NAMES_H_
