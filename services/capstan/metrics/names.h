// The rules for names of metrics, on which dashboards, alerts and docs rely.
#ifndef CAPSTAN_METRICS_NAMES_H_
#define CAPSTAN_METRICS_NAMES_H_

#include <string_view>

#include "capstan/metrics/series.h"

namespace capstan::metrics {

// Returns true if a name begins with `capstan_`, has only lower case letters, digits and single
// underscores, ends with `_total` if and only if it is a counter's, and has none of the endings
// that the series of a histogram have.
bool IsMetricName(std::string_view name, Kind kind);

// Returns true if a name has only lower case letters, digits and underscores, and is not `le`,
// which histograms use.
bool IsLabelName(std::string_view name);

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_NAMES_H_
