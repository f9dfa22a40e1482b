#include "chief/shell/learning_curve.h"

#include <cstddef>
#include <map>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/model/metrics.h"

namespace capstan::chief {
namespace {

constexpr const char* kMetrics[] = {"loss", "auc",         "logloss",  "accuracy",
                                    "rmse", "calibration", "group_auc"};
// These columns are after that of the set, so that older curves stay valid.
constexpr const char* kLaterMetrics[] = {"mae"};

void AppendCells(std::span<const char* const> names,
                 const std::map<std::string_view, double>& metrics, std::string& cells) {
  for (const char* name : names) {
    cells += ',';
    const auto found = metrics.find(name);
    if (found != metrics.end()) absl::StrAppend(&cells, absl::StrFormat("%.6g", found->second));
  }
}

// Returns the cells of the metrics of one set, and its name.
std::string Cells(std::string_view set, const std::map<std::string_view, double>& metrics) {
  std::string cells;
  AppendCells(kMetrics, metrics, cells);
  cells += ',';
  cells += set;
  AppendCells(kLaterMetrics, metrics, cells);
  return cells;
}

}  // namespace

std::string CurveHeader() {
  return absl::StrCat(
      "elapsed_seconds,examples,step,train_loss,examples_per_second,evaluation,eval_",
      absl::StrJoin(kMetrics, ",eval_"), ",eval_set,eval_", absl::StrJoin(kLaterMetrics, ",eval_"),
      "\n");
}

std::string UnderCurveHeader(const std::string& curve) {
  const size_t end = curve.find('\n');
  return CurveHeader() + (end == curve.npos ? "" : curve.substr(end + 1));
}

std::string CurveLines(const AppendCurve& point) {
  const std::string loss = point.loss ? absl::StrFormat("%.6g", *point.loss) : "";
  std::string begin = absl::StrFormat("%.3f,%d,%d,%s,%.1f,", point.elapsed_seconds, point.examples,
                                      point.step, loss, point.examples_per_second);
  const v1::Evaluation& evaluation = point.evaluation;
  if (evaluation.number() > 0) absl::StrAppend(&begin, evaluation.number());
  std::string lines, first;
  for (const auto& [scope, metrics] : MetricsByScope(evaluation)) {
    (scope.empty() ? first : lines) += begin + Cells(scope, metrics) + "\n";
  }
  return lines + first;
}

}  // namespace capstan::chief
