#include "chief/work/evaluation_log.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/model/metrics.h"

namespace capstan::chief {

std::vector<LogFields> EvaluationLogFields(const v1::Evaluation& evaluation) {
  std::map<std::string_view, LogFields> sets;
  sets.try_emplace("");  // There may be no metric at all.
  for (const auto& [name, value] : evaluation.metrics()) {
    const MetricName parsed = ParseMetricName(name);
    sets[parsed.set].emplace_back(parsed.metric, absl::StrFormat("%.6g", value));
  }
  std::vector<LogFields> lines;
  for (auto& [set, metrics] : sets) {
    LogFields& line =
        lines.emplace_back(LogFields{{"number", absl::StrCat(evaluation.number())},
                                     {"examples", absl::StrCat(evaluation.examples())},
                                     {"live", evaluation.at_round_boundary() ? "no" : "yes"}});
    if (!set.empty()) line.emplace_back("set", set);
    std::sort(metrics.begin(), metrics.end());
    line.insert(line.end(), metrics.begin(), metrics.end());
  }
  return lines;
}

}  // namespace capstan::chief
