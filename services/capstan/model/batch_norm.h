// Batch normalization (Ioffe, Szegedy 2015) of the columns of a matrix, with the constants of
// PyTorch.
#ifndef CAPSTAN_MODEL_BATCH_NORM_H_
#define CAPSTAN_MODEL_BATCH_NORM_H_

#include <vector>

#include "capstan/model/matrix.h"

namespace capstan {

// While training each column has the mean 0 and the variance 1 over the batch before it is scaled
// and shifted. The running mean and variance, which scoring uses in place of the batch's, move by
// kMomentum of the way to those of each batch. They are parameters that are not trained
// (TENSOR_ROLE_RUNNING). All additions are made in the order of the rows, so the bits do not depend
// on where the matrices lie. Thread-compatible; keeps what TrainForward has computed for the
// Backward that follows it.
class BatchNorm {
 public:
  static constexpr float kEpsilon = 1e-5f;
  static constexpr float kMomentum = 0.1f;

  // One float a column each.
  struct Parameters {
    const float* scale;
    const float* shift;
    const float* mean;      // Running.
    const float* variance;  // Running; what is below 0 counts as 0.
  };
  struct Gradients {
    float* scale;
    float* shift;
    float* mean;      // What it was before the step less what it is after it,
    float* variance;  // and the same; of a batch of one row, which has no variance, 0.
  };

  // y may be x.
  void Score(const Parameters& parameters, const ConstMatrix& x, Matrix y);
  void TrainForward(const Parameters& parameters, const ConstMatrix& x, Matrix y);

  // After TrainForward. `gradient` is that of y, and becomes that of x. Writes all of `gradients`.
  void Backward(const Parameters& parameters, Matrix gradient, const Gradients& gradients);

 private:
  MatrixBuffer normalized_;
  std::vector<double> mean_,
      variance_;                // Mean and variance of the batch, divided by the number of rows.
  std::vector<float> inverse_;  // 1 / sqrt(variance + kEpsilon).
  // Sums of the gradient, and of it times what is normalized.
  std::vector<double> sums_, products_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_BATCH_NORM_H_
