#include "chief/machines/early_stop.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/model/metrics.h"

namespace capstan::chief {

bool EarlyStopper::Improves(const v1::Evaluation& evaluation) const {
  const auto metric = evaluation.metrics().find(options_.metric());
  if (!std::isfinite(metric->second)) return false;
  if (!best_) return true;
  return MoreIsBetter(options_.metric()) ? metric->second > *best_ : metric->second < *best_;
}

std::optional<std::string> EarlyStopper::Add(const v1::Evaluation& evaluation) {
  if (options_.metric().empty() || !Lack(evaluation).empty()) return std::nullopt;
  if (Improves(evaluation)) {
    best_ = evaluation.metrics().at(options_.metric());
    best_number_ = evaluation.number();
    without_improvement_ = 0;
    return std::nullopt;
  }
  if (++without_improvement_ < options_.patience()) return std::nullopt;
  const std::string best = best_ ? absl::StrCat("best ", *best_, " in evaluation ", best_number_)
                                 : "it never was a number";
  return absl::StrCat("early stop: ", options_.metric(), " has not improved in ",
                      without_improvement_, " evaluations; ", best);
}

std::string EarlyStopper::Lack(const v1::Evaluation& evaluation) const {
  if (options_.metric().empty() || evaluation.metrics().contains(options_.metric())) return "";
  return absl::StrCat("evaluation ", evaluation.number(), " has no ", options_.metric(),
                      ", by which the job is to stop early, and counts for nothing there: no "
                      "held-out record has its label, or all of them have the same one");
}

}  // namespace capstan::chief
