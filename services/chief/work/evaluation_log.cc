#include "chief/work/evaluation_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/model/metrics.h"

namespace capstan::chief {

std::vector<LogFields> EvaluationLogFields(const v1::Evaluation& evaluation) {
  std::vector<LogFields> lines;
  for (const auto& [scope, metrics] : MetricsByScope(evaluation)) {
    LogFields& line =
        lines.emplace_back(LogFields{{"number", absl::StrCat(evaluation.number())},
                                     {"examples", absl::StrCat(evaluation.examples())},
                                     {"live", evaluation.at_round_boundary() ? "no" : "yes"}});
    if (!scope.empty()) line.emplace_back("scope", scope);
    for (const auto& [metric, value] : metrics) {
      line.emplace_back(metric, absl::StrFormat("%.6g", value));
    }
  }
  return lines;
}

}  // namespace capstan::chief
