#include "capstan/model/oddness.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace capstan {
namespace {

// A model that has learnt nothing yet may be a little worse than guessing; noise is no news.
constexpr double kOddFactor = 1.5;
// A squared loss has no natural scale but its own past.
constexpr double kGrowthFactor = 100;

constexpr char kAdvice[] =
    "a lower learning rate (optimizer.dense, optimizer.sparse) or train.clip_norm may help";

// The loss of a model that says the same of every record; nothing: it depends on the data.
std::optional<double> LossOfGuessing(const v1::ModelSpec& model) {
  if (model.loss() == v1::LOSS_SQUARED) return std::nullopt;
  return std::log(std::max<double>(2, model.outputs()));
}

std::optional<double> Find(const v1::Evaluation& evaluation, const char* metric) {
  const auto found = evaluation.metrics().find(metric);
  if (found == evaluation.metrics().end()) return std::nullopt;
  return found->second;
}

// Inf and NaN are odd as well.
bool IsAbove(double value, double limit) { return !(value <= limit); }

}  // namespace

std::string OddLoss(const v1::ModelSpec& model, double loss, double least) {
  if (const std::optional<double> guessing = LossOfGuessing(model)) {
    if (!IsAbove(loss, kOddFactor * *guessing)) return "";
    return absl::StrFormat(
        "the training loss is %.4g, and guessing would have %.4g: training diverges; %s", loss,
        *guessing, kAdvice);
  }
  if (least <= 0 || !IsAbove(loss, kGrowthFactor * least)) return "";
  return absl::StrFormat("the training loss is %.4g, and was %.4g: training diverges; %s", loss,
                         least, kAdvice);
}

std::string OddEvaluation(const v1::ModelSpec& model, const v1::Evaluation& evaluation) {
  const std::optional<double> logloss = Find(evaluation, "logloss");
  const std::optional<double> guessing = LossOfGuessing(model);
  if (logloss && guessing && IsAbove(*logloss, kOddFactor * *guessing)) {
    return absl::StrFormat(
        "the held-out logloss is %.4g, and guessing would have %.4g: the model is worse than none; "
        "%s",
        *logloss, *guessing, kAdvice);
  }
  const bool of_two_classes = model.loss() == v1::LOSS_LOGISTIC && logloss.has_value();
  if (!of_two_classes || Find(evaluation, "auc")) return "";
  const char* label = Find(evaluation, "calibration") ? "1" : "0";
  return absl::StrCat("every held-out record has the label ", label,
                      ": AUC needs both classes and is not told; data.eval should be drawn like "
                      "data.train");
}

}  // namespace capstan
