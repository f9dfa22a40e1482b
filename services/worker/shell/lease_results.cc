#include "worker/shell/lease_results.h"

#include <cmath>

#include "capstan/model/metrics.h"

namespace capstan::worker {

Computed LeaseResults::Take(uint64_t batch, const Step& step) {
  if (!evaluates_) {
    nonfinite_loss_ = nonfinite_loss_ || !std::isfinite(step.loss_sum);
    return {.batch = batch,
            .loss_sum = step.loss_sum / step.batch->MeanWeight(),
            .nonfinite = step.nonfinite};
  }
  AddToEvaluation(scores_.Measured({.logits = step.logits,
                                    .labels = step.batch->labels,
                                    .weights = step.batch->weights,
                                    .groups = step.batch->groups}),
                  evaluation_);
  grouped_.Shrink();
  return {.batch = batch};
}

void LeaseResults::Fill(v1::LeaseReport& report) const {
  report.set_nonfinite_loss(nonfinite_loss_);
  if (user_code_) *report.mutable_user_code() = *user_code_;
  if (evaluates_ && report.finished()) *report.mutable_evaluation() = evaluation_;
}

}  // namespace capstan::worker
