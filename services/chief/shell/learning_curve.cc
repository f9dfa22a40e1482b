#include "chief/shell/learning_curve.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace capstan::chief {
namespace {

constexpr const char* kMetrics[] = {"loss", "auc", "logloss", "accuracy", "rmse", "calibration"};

}  // namespace

std::string CurveHeader() {
  return absl::StrCat(
      "elapsed_seconds,examples,step,train_loss,examples_per_second,evaluation,eval_",
      absl::StrJoin(kMetrics, ",eval_"), "\n");
}

std::string CurveLine(const AppendCurve& point) {
  std::string line = absl::StrFormat("%.3f,%d,%d,%.6g,%.1f,", point.elapsed_seconds, point.examples,
                                     point.step, point.loss, point.examples_per_second);
  const bool evaluated = point.evaluation.number() > 0;
  if (evaluated) absl::StrAppend(&line, point.evaluation.number());
  for (const char* name : kMetrics) {
    absl::StrAppend(&line, ",");
    const auto metric = point.evaluation.metrics().find(name);
    if (!evaluated || metric == point.evaluation.metrics().end()) continue;
    absl::StrAppend(&line, absl::StrFormat("%.6g", metric->second));
  }
  return line + "\n";
}

}  // namespace capstan::chief
