// 3x3 convolution with zero padding, ReLU, 2x2 max pooling (an odd last row or column is omitted).
// Images are stored row by row, pixel by pixel, channels innermost.
#ifndef CAPSTAN_MODEL_TOWERS_CONV_LAYER_H_
#define CAPSTAN_MODEL_TOWERS_CONV_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capstan/model/gemm.h"
#include "capstan/model/matrix.h"

namespace capstan {

struct ConvShape {
  int height, width, channels_in, channels_out;
};

// Parameters: kernel [9 * channels_in x channels_out], the nine neighbours row by row, then the
// bias [channels_out]. Thread-compatible; remembers from which pixel each maximum came.
class ConvLayer {
 public:
  explicit ConvLayer(const ConvShape& shape) : shape_(shape) {}

  const ConvShape& shape() const { return shape_; }
  size_t parameter_count() const {
    return (9 * shape_.channels_in + 1) * size_t(shape_.channels_out);
  }
  int output_size() const { return (shape_.height / 2) * (shape_.width / 2) * shape_.channels_out; }

  // `input` [examples x height * width * channels_in] -> `pooled` [examples x output_size()].
  void Forward(const ConstMatrix& input, std::span<const float> parameters, Gemm& gemm,
               Matrix pooled);

  struct BackwardCall {
    ConstMatrix input, pooled, pooled_gradient;
    std::span<const float> parameters;
    std::span<float> parameter_gradients;  // Written.
    Matrix input_gradient;                 // Added to; if it has no columns, it is not computed.
    Gemm& gemm;
  };
  // REQUIRES: the last Forward had the same input.
  void Backward(const BackwardCall& call);

 private:
  int pixels() const { return shape_.height * shape_.width; }
  int patch_size() const { return 9 * shape_.channels_in; }
  Matrix Patches(const float* image);
  void AddPatches(const Matrix& patches, float* image) const;
  void Pool(const Matrix& convolved, float* pooled, uint8_t* places) const;
  void Unpool(const BackwardCall& call, Eigen::Index example, Matrix& convolved) const;

  ConvShape shape_;
  std::vector<uint8_t> places_;       // Where the maxima are, 0 to 3, for the whole batch.
  MatrixBuffer patches_, convolved_;  // Each holds one image.
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_TOWERS_CONV_LAYER_H_
