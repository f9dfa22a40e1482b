#include <algorithm>
#include <cmath>
#include <utility>

#include "capstan/data/synthetic/click_log.h"

namespace capstan {

void OracleSums::Add(double logit, bool click) {
  logloss_ += std::max(logit, 0.0) + std::log1p(std::exp(-std::fabs(logit))) - (click ? logit : 0);
  scores_.emplace_back(logit, click);
}

Oracle OracleSums::Finish() && {
  std::sort(scores_.begin(), scores_.end());
  double positives = 0;
  double wins = 0;  // Pairs of a click and no click, the click scored higher; ties count half.
  double negatives = 0;
  for (size_t begin = 0; begin < scores_.size();) {
    double ties[2] = {0, 0};
    size_t end = begin;
    for (; end < scores_.size() && scores_[end].first == scores_[begin].first; ++end) {
      ++ties[scores_[end].second];
    }
    wins += ties[1] * (negatives + ties[0] / 2);
    positives += ties[1];
    negatives += ties[0];
    begin = end;
  }
  const double rows = static_cast<double>(scores_.size());
  if (rows == 0) return {};
  return {.rows = scores_.size(),
          .click_rate = positives / rows,
          .auc = positives * negatives > 0 ? wins / (positives * negatives) : 0.5,
          .logloss = logloss_ / rows};
}

}  // namespace capstan
