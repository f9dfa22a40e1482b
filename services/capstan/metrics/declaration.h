// What a metric is. Each is declared once, in the library or service that measures it, as a
// constant of this form, from which a registry has its name, help and labels, and
// docs/generate_metrics the tables of docs/metrics.md:
//
//   constexpr metrics::CounterDeclaration kPushes = {
//       .name = "capstan_pushes_total", .help = "Push requests.", .labels = "code"};
#ifndef CAPSTAN_METRICS_DECLARATION_H_
#define CAPSTAN_METRICS_DECLARATION_H_

#include <string_view>

#include "capstan/metrics/series.h"

namespace capstan::metrics {

// The texts are those of the page, where names stand in `backquotes`.
template <Kind kKind>
struct Declaration {
  std::string_view name;
  std::string_view help;         // Whole sentences, which scrapes tell as well.
  std::string_view labels = {};  // The names of the labels of each of its series: "code, op".
  std::string_view when = {};    // "with tables"; empty: it is always exported.
  std::string_view normal = {};  // Which values are normal; empty: that depends on the job.
};

using CounterDeclaration = Declaration<Kind::kCounter>;
using GaugeDeclaration = Declaration<Kind::kGauge>;
using HistogramDeclaration = Declaration<Kind::kHistogram>;

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_DECLARATION_H_
