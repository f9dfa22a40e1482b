// Copies a computed gradient into the step, and in the same pass finds its norm and whether it is
// finite; then clips it. The pass is Finish(), which need not be on the thread that has computed.
#ifndef CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_
#define CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "worker/shell/step.h"

namespace capstan::worker {

// First TakeRows for each table, then the gradient of the parameters piece by piece, in the order
// of the flat vector. The order of all additions is fixed. Thread-compatible.
class StepGradients {
 public:
  // Overwrites the gradients that `step` holds of an earlier computation. `step` must outlive this
  // object.
  explicit StepGradients(Step& step);

  // The gradient of the rows of `table`, which Finish() reads; empty: all zeros. To be called once
  // for each table, in order.
  void TakeRows(size_t table, std::span<const float> gradient);

  // Each takes the next piece of the parameters. Take: the gradient of trained ones, which Finish()
  // reads. TakeZeros: `count` zeros. TakeChange: parameters that are not trained
  // (OPTIMIZER_KIND_RUNNING) and have become `after`; the gradient is what they were before, less
  // `after`, which is read at once.
  void Take(std::span<const float> gradient);
  void TakeZeros(size_t count);
  void TakeChange(std::span<const float> after);
  // As TakeChange, for a caller that has this difference already.
  void TakeDifference(std::span<const float> before_less_after);

  // Reads the gradients of what is trained, and writes to the step, which nobody else may do
  // meanwhile. With `clip_norm` > 0 scales the gradient of all that is trained so that its
  // Euclidean norm is at most `clip_norm` (Pascanu et al., 2013). Sets `nonfinite` if the loss or
  // the gradient holds NaN or infinity. Pieces that were not taken are zero.
  void Finish(double loss_sum, double clip_norm);

 private:
  // A gradient that Finish() reads, and its place in the step.
  struct Trained {
    std::span<const float> gradient;
    std::span<float> to;
  };
  // The place of the next `count` parameters' gradients.
  std::span<float> Next(size_t count);

  Step& step_;
  size_t taken_ = 0;          // How many parameters have been taken.
  double other_squares_ = 0;  // The squares of what is not trained: finite if all of it is.
  std::vector<Trained> trained_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_GRADIENTS_H_
