// Batch normalization (Ioffe, Szegedy 2015) of the columns of a matrix, with PyTorch's constants.
#ifndef CAPSTAN_MODEL_BATCH_NORM_H_
#define CAPSTAN_MODEL_BATCH_NORM_H_

#include <vector>

#include "capstan/model/matrix.h"

namespace capstan {

// While training, each column is normalized to mean 0 and variance 1 over the batch, then scaled
// and shifted. Scoring uses a running mean and variance instead of the batch's; with each batch
// these move kMomentum of the way to the batch's. They are parameters that are not trained
// (TENSOR_ROLE_RUNNING). All additions are in the order of the rows, so that results do not depend
// on the addresses of the matrices. Thread-compatible; keeps what TrainForward has computed for the
// Backward that follows it.
class BatchNorm {
 public:
  static constexpr float kEpsilon = 1e-5f;
  static constexpr float kMomentum = 0.1f;

  // Each points to one float for each column.
  struct Parameters {
    const float* scale;
    const float* shift;
    const float* mean;      // Running.
    const float* variance;  // Running; a value below 0 counts as 0.
  };
  struct Gradients {
    float* scale;
    float* shift;
    float* mean;  // The running mean before the step minus that after it.
    // The same for the running variance; 0 for a batch of one row, which has no variance.
    float* variance;
  };

  // Normalizes x by the running mean and variance into y, which may be x.
  void Score(const Parameters& parameters, const ConstMatrix& x, Matrix y);
  void TrainForward(const Parameters& parameters, const ConstMatrix& x, Matrix y);

  // Turns `gradient`, the gradient of y, into the gradient of x, and writes all of `gradients`.
  // REQUIRES: TrainForward was the last call.
  void Backward(const Parameters& parameters, Matrix gradient, const Gradients& gradients);

 private:
  MatrixBuffer normalized_;
  // Mean and variance of the batch, divided by the number of rows.
  std::vector<double> mean_, variance_;
  std::vector<float> inverse_;  // 1 / sqrt(variance + kEpsilon).
  // Column sums of the gradient, and of the gradient times the normalized values.
  std::vector<double> sums_, products_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_BATCH_NORM_H_
