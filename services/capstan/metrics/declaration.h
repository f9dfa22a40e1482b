// The declaration of a metric. Each metric is declared once, as such a constant, in the library or
// service that measures it. A registry takes its name, help and labels from there, and
// docs/generate_metrics the tables of docs/metrics.md:
//
//   constexpr metrics::CounterDeclaration kPushes = {
//       .name = "capstan_pushes_total", .help = "Push requests.", .labels = "code"};
#ifndef CAPSTAN_METRICS_DECLARATION_H_
#define CAPSTAN_METRICS_DECLARATION_H_

#include <string_view>

#include "capstan/metrics/series.h"

namespace capstan::metrics {

// The texts are shown on the page; names in them are in `backquotes`.
template <Kind kKind>
struct Declaration {
  std::string_view name;
  std::string_view help;         // Whole sentences, which are also part of a scrape.
  std::string_view labels = {};  // The names of the labels of all of its series: "code, op".
  std::string_view when = {};    // "with tables"; empty: it is always exported.
  std::string_view normal = {};  // Which values are normal; empty if that depends on the job.
};

using CounterDeclaration = Declaration<Kind::kCounter>;
using GaugeDeclaration = Declaration<Kind::kGauge>;
using HistogramDeclaration = Declaration<Kind::kHistogram>;

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_DECLARATION_H_
