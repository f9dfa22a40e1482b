#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/model/initializers.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

// Parameters: W [d x d] and b [d] of every layer, then the head [d x outputs].
class Cross : public Tower {
 public:
  Cross(int layers, const ModelShape& shape)
      : layers_(layers),
        width_(shape.feature_columns()),
        outputs_(shape.outputs),
        states_(layers),
        products_(layers) {
    const uint32_t width = width_, outputs = outputs_;
    for (int i = 0; i < layers; ++i) {
      description_.tensors.push_back(
          {absl::StrCat("weights_", i), {width, width}, GlorotUniform(width, width)});
      description_.tensors.push_back({absl::StrCat("bias_", i), {width}, Zero()});
    }
    description_.tensors.push_back({"head", {width, outputs}, GlorotUniform(width, outputs)});
    description_.reads_features = true;
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    const ConstMatrix& x0 = input.features;
    for (int i = 0; i < layers_; ++i) {
      const float* parameters = input.parameters.data() + i * LayerSize();
      const ConstMatrix x = State(x0, i);
      const Matrix product = products_[i].Shape(x0.rows(), width_);
      input.gemm.Multiply(x, MatrixAt(parameters, width_, width_), product,
                          {.bias = {parameters + width_ * width_, static_cast<size_t>(width_)}});
      states_[i].Shape(x0.rows(), width_).array() = x0.array() * product.array() + x.array();
    }
    input.gemm.Multiply(State(x0, layers_), Head(input.parameters), logits, {.accumulate = true});
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    const ConstMatrix& x0 = input.features;
    float* const parameters = gradients.parameters.data();
    // The gradient of the state after the present layer.
    const Matrix dx = dx_.Shape(x0.rows(), width_);
    const Matrix dx0 = dx0_.Shape(x0.rows(), width_);
    const_cast<Matrix&>(dx0).setZero();
    input.gemm.Multiply(State(x0, layers_), logit_gradient,
                        MatrixAt(parameters + layers_ * LayerSize(), width_, outputs_),
                        {.transpose_a = true});
    input.gemm.Multiply(logit_gradient, Head(input.parameters), dx, {.transpose_b = true});
    for (int i = layers_; i-- > 0;) BackwardLayer(input, i, parameters + i * LayerSize());
    const Eigen::Index columns = gradients.features.cols();
    Matrix out = gradients.features;
    out += Columns(dx, 0, columns) + Columns(dx0, 0, columns);
  }

 private:
  Eigen::Index LayerSize() const { return Eigen::Index{width_} * width_ + width_; }
  ConstMatrix Head(std::span<const float> parameters) const {
    return MatrixAt(parameters.data() + layers_ * LayerSize(), width_, outputs_);
  }
  // Returns x before layer i.
  ConstMatrix State(const ConstMatrix& x0, int i) {
    return i == 0 ? x0 : Const(states_[i - 1].matrix());
  }

  // Turns dx_ from the gradient of the output of layer i into that of its input, and adds to dx0_.
  void BackwardLayer(const TowerInput& input, int i, float* parameter_gradients) {
    const ConstMatrix& x0 = input.features;
    Matrix dx = dx_.matrix(), dx0 = dx0_.matrix();
    Matrix du = du_.Shape(x0.rows(), width_);
    du.array() = dx.array() * x0.array();
    dx0.array() += dx.array() * products_[i].matrix().array();
    input.gemm.Multiply(State(x0, i), Const(du), MatrixAt(parameter_gradients, width_, width_),
                        {.transpose_a = true});
    const std::span<float> bias(parameter_gradients + Eigen::Index{width_} * width_,
                                static_cast<size_t>(width_));
    std::fill(bias.begin(), bias.end(), 0.0f);
    input.gemm.AddColumnSums(Const(du), bias);
    const float* const weights = input.parameters.data() + i * LayerSize();
    input.gemm.Multiply(Const(du), MatrixAt(weights, width_, width_), dx,
                        {.transpose_b = true, .accumulate = true});
  }

  const int layers_, width_, outputs_;
  TowerDescription description_;
  std::vector<MatrixBuffer> states_;    // x after each layer.
  std::vector<MatrixBuffer> products_;  // x W + b of each.
  MatrixBuffer dx_, dx0_, du_;
};

}  // namespace

TowerResult NewCross(const v1::TowerSpec& spec, const ModelShape& shape) {
  if (absl::Status status = CheckFeatures(shape); !status.ok()) return status;
  if (spec.layers() == 0) return absl::InvalidArgumentError("layers is 0, at least 1");
  return std::make_unique<Cross>(spec.layers(), shape);
}

}  // namespace capstan
