// Fully connected layers with an activation between them. The tower mlp consists of such a stack,
// and other towers end with one.
#ifndef CAPSTAN_MODEL_DENSE_STACK_H_
#define CAPSTAN_MODEL_DENSE_STACK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/model/batch_norm.h"
#include "capstan/model/gemm.h"
#include "capstan/model/matrix.h"
#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What is applied after each layer except the last, in this order.
struct StackOptions {
  bool batch_norm = false;
  v1::Activation activation = v1::ACTIVATION_UNSPECIFIED;
  // Srivastava et al., 2014; outputs that are kept are scaled by 1 / (1 - dropout).
  float dropout = 0;
};

// Returns the options in a tower's spec.
StackOptions StackOptionsOf(const v1::TowerSpec& spec);

// Thread-compatible; keeps the activations of the last Forward.
class DenseStack {
 public:
  // `widths`: the width of the input, then of every layer. REQUIRES: at least two, none 0.
  explicit DenseStack(std::vector<int> widths, StackOptions options = {});

  // `<prefix>weights_0` [in x out] (Glorot uniform), `<prefix>bias_0` [out] (0), and with batch
  // norm, whose shift the bias is, `<prefix>scale_0` [out] (1), `<prefix>mean_0` [out] (running,
  // 0), `<prefix>variance_0` [out] (running, 1); `<prefix>weights_1` ...
  std::vector<TowerTensor> Tensors(std::string_view prefix) const;
  int64_t parameter_count() const;
  int input_width() const { return widths_.front(); }

  struct Call {
    ConstMatrix input;  // [examples x input_width()].
    std::span<const float> parameters;
    Gemm& gemm;
    std::optional<TrainingBatch> training = {};  // nullopt while scoring.
  };

  // Returns the outputs [examples x the last width], valid until the next call.
  ConstMatrix Forward(const Call& call);

  // Writes `parameter_gradients` and adds to `input_gradient`, which may have fewer columns than
  // the input: it is then the gradient of the first columns. REQUIRES: the last call was Forward
  // with the same argument, while training.
  void Backward(const Call& call, ConstMatrix output_gradient, std::span<float> parameter_gradients,
                Matrix input_gradient);

 private:
  struct Layer {
    int in, out;
    int64_t weights, bias;  // Offsets in the parameters.
    bool normalizes;        // If true, scale, mean and variance follow the bias.
  };

  bool relu() const;
  bool drops(const Call& call) const { return call.training.has_value() && options_.dropout > 0; }
  // Applies dropout to the layer's outputs.
  void Drop(const TrainingBatch& batch, size_t layer, Matrix output);
  static BatchNorm::Parameters NormOf(const Layer& layer, const float* parameters);

  std::vector<int> widths_;
  StackOptions options_;
  std::vector<Layer> layers_;
  std::vector<MatrixBuffer> outputs_;  // One per layer.
  // The inputs of the activations; not kept if only ReLU is applied.
  std::vector<MatrixBuffer> products_;
  std::vector<BatchNorm> norms_;       // One per layer except the last.
  std::vector<MatrixBuffer> factors_;  // The factors with which dropout has multiplied the outputs.
  std::vector<MatrixBuffer>
      gradients_;  // The gradients of the outputs of all layers except the last.
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_DENSE_STACK_H_
