#include "capstan/model/oddness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/absl_view.h"
#include "capstan/config/data_labels.h"
#include "capstan/model/metrics.h"

namespace capstan {
namespace {

// A model that has learnt nothing yet may by chance be a little worse than guessing, which is not
// reported.
constexpr double kOddFactor = 1.5;
// A squared loss, and a loss that a program computes, can only be compared with its own past.
constexpr double kGrowthFactor = 100;

constexpr char kAdvice[] =
    "a lower learning rate (optimizer.dense, optimizer.sparse) or train.clip_norm may help";

// Returns the logloss of a model that predicts the same for every record.
double LoglossOfGuessing(const v1::ModelSpec& model) {
  return std::log(model.loss() == v1::LOSS_SOFTMAX ? std::max<double>(2, model.outputs()) : 2);
}

// Returns the loss of guessing; nullopt if it depends on the data, or on what a program computes.
std::optional<double> LossOfGuessing(const v1::JobSpec& job) {
  if (!job.model().user().empty()) return std::nullopt;
  if (AnyLabelHas(job, v1::LOSS_SQUARED)) return std::nullopt;
  double weights = 0;
  for (const v1::LabelSpec& label : LabelsOf(job.data())) weights += label.weight();
  return weights * LoglossOfGuessing(job.model());
}

using Metrics = std::map<std::string_view, double>;

std::optional<double> Find(const Metrics& metrics, const char* metric) {
  const auto found = metrics.find(metric);
  if (found == metrics.end()) return std::nullopt;
  return found->second;
}

// Inf and NaN are odd as well.
bool IsAbove(double value, double limit) { return !(value <= limit); }

// As OddEvaluation, for the metrics of one scope (capstan/base/metric_name.h).
std::string OddMetrics(const v1::ModelSpec& model, std::string_view scope, const Metrics& metrics) {
  const std::string whose = scope.empty() ? "" : absl::StrCat(" of ", AbslView(scope));
  const std::optional<double> logloss = Find(metrics, "logloss");
  if (!logloss) return "";
  const double guessing = LoglossOfGuessing(model);
  if (IsAbove(*logloss, kOddFactor * guessing)) {
    return absl::StrFormat(
        "the held-out logloss%s is %.4g, and guessing would have %.4g: the model is worse than "
        "none; %s",
        whose, *logloss, guessing, kAdvice);
  }
  if (model.loss() == v1::LOSS_SOFTMAX || Find(metrics, "auc")) return "";
  const char* label = Find(metrics, "calibration") ? "1" : "0";
  return absl::StrCat("every held-out record", whose, " has the label ", label,
                      ": AUC needs both classes and is not told; data.eval should be drawn like "
                      "data.train");
}

}  // namespace

std::string OddLoss(const v1::JobSpec& job, double loss, double least) {
  const std::optional<double> guessing = LossOfGuessing(job);
  if (guessing) {
    if (!IsAbove(loss, kOddFactor * *guessing)) return "";
    return absl::StrFormat(
        "the training loss is %.4g, and guessing would have %.4g: training diverges; %s", loss,
        *guessing, kAdvice);
  }
  if (!std::isfinite(loss)) {
    return absl::StrFormat("the training loss is %.4g: training diverges; %s", loss, kAdvice);
  }
  if (least <= 0 || !IsAbove(loss, kGrowthFactor * least)) return "";
  return absl::StrFormat("the training loss is %.4g, and was %.4g: training diverges; %s", loss,
                         least, kAdvice);
}

std::string OddEvaluation(const v1::ModelSpec& model, const v1::Evaluation& evaluation) {
  for (const auto& [scope, metrics] : MetricsByScope(evaluation)) {
    std::string odd = OddMetrics(model, scope, metrics);
    if (!odd.empty()) return odd;
  }
  return "";
}

}  // namespace capstan
