// The one pass over a computed gradient: into the step, with its norm, whether it is finite, and
// its clipping.
#ifndef CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_
#define CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "worker/shell/step.h"

namespace capstan::worker {

// Takes the gradients of the rows, table by table, then that of the parameters piece by piece, in
// the order of the flat vector. The order of all additions is fixed. Thread-compatible.
class StepGradients {
 public:
  // Whatever the step holds of an earlier computation is overwritten. It must outlive this object.
  explicit StepGradients(Step& step);

  // Once for each table, in their order; empty: all zeros.
  void TakeRows(size_t table, std::span<const float> gradient);

  // The next piece, trained, or not trained: there `after` is what the parameters have become, and
  // the gradient is what they were before less that (OPTIMIZER_KIND_RUNNING).
  void Take(std::span<const float> gradient);
  void TakeZeros(size_t count);
  void TakeChange(std::span<const float> after);
  // As TakeChange, for a caller that has this difference already.
  void TakeDifference(std::span<const float> before_less_after);

  // With `clip_norm` > 0 what is trained is scaled so that its Euclidean norm is at most that
  // (Pascanu et al., 2013). A loss or gradient that holds NaN or infinity sets `nonfinite`. What
  // has not been taken is zero.
  void Finish(double loss_sum, double clip_norm);

 private:
  Step& step_;
  size_t taken_ = 0;          // Parameters.
  double squares_ = 0;        // The sum of the squares of what is trained.
  double other_squares_ = 0;  // Finite exactly when all that is not trained is.
  std::vector<std::pair<size_t, size_t>> trained_;  // Ranges of the parameters.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_
