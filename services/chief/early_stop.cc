#include "chief/early_stop.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "capstan/model/metrics.h"

namespace capstan::chief {

std::optional<std::string> EarlyStopper::Add(const v1::Evaluation& evaluation) {
  if (options_.metric().empty()) return std::nullopt;
  const auto metric = evaluation.metrics().find(options_.metric());
  const bool usable = metric != evaluation.metrics().end() && std::isfinite(metric->second);
  const bool more = MoreIsBetter(options_.metric());
  if (usable && (!best_ || (more ? metric->second > *best_ : metric->second < *best_))) {
    best_ = metric->second;
    best_number_ = evaluation.number();
    without_improvement_ = 0;
    return std::nullopt;
  }
  if (++without_improvement_ < options_.patience()) return std::nullopt;
  return absl::StrCat("early stop: ", options_.metric(), " has not improved in ",
                      without_improvement_, " evaluations; best ", best_ ? *best_ : 0.0,
                      " in evaluation ", best_number_);
}

}  // namespace capstan::chief
