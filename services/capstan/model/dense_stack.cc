#include "capstan/model/dense_stack.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/model/initializers.h"

namespace capstan {

DenseStack::DenseStack(std::vector<int> widths) : widths_(std::move(widths)) {
  CAPSTAN_CHECK(widths_.size() >= 2);
  int64_t place = 0;
  for (size_t i = 0; i + 1 < widths_.size(); ++i) {
    const int64_t weights = int64_t{widths_[i]} * widths_[i + 1];
    layers_.push_back({widths_[i], widths_[i + 1], place, place + weights});
    place += weights + widths_[i + 1];
  }
  outputs_.resize(layers_.size());
  gradients_.resize(layers_.size() - 1);
}

std::vector<TowerTensor> DenseStack::Tensors(std::string_view prefix) const {
  std::vector<TowerTensor> tensors;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const uint32_t in = layers_[i].in, out = layers_[i].out;
    const absl::string_view name(prefix.data(), prefix.size());
    tensors.push_back({absl::StrCat(name, "weights_", i), {in, out}, GlorotUniform(in, out)});
    tensors.push_back({absl::StrCat(name, "bias_", i), {out}, Zero()});
  }
  return tensors;
}

int64_t DenseStack::parameter_count() const { return layers_.back().bias + layers_.back().out; }

ConstMatrix DenseStack::Forward(const Call& call) {
  ConstMatrix input = call.input;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const float* parameters = call.parameters.data();
    const Matrix output = outputs_[i].Shape(input.rows(), layer.out);
    call.gemm.Multiply(input, MatrixAt(parameters + layer.weights, layer.in, layer.out), output,
                       {.bias = {parameters + layer.bias, static_cast<size_t>(layer.out)},
                        .relu = i + 1 < layers_.size()});
    new (&input) ConstMatrix(Const(output));
  }
  return input;
}

void DenseStack::Backward(const Call& call, ConstMatrix output_gradient,
                          std::span<float> parameter_gradients, Matrix input_gradient) {
  ConstMatrix gradient = output_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const ConstMatrix input = i == 0 ? call.input : Const(outputs_[i - 1].matrix());
    float* const gradients = parameter_gradients.data();
    call.gemm.Multiply(input, gradient, MatrixAt(gradients + layer.weights, layer.in, layer.out),
                       {.transpose_a = true});
    const std::span<float> bias(gradients + layer.bias, static_cast<size_t>(layer.out));
    std::fill(bias.begin(), bias.end(), 0.0f);
    call.gemm.AddColumnSums(gradient, bias);

    const float* const weights = call.parameters.data() + layer.weights;
    if (i == 0) {
      if (input_gradient.cols() == 0) return;
      call.gemm.Multiply(gradient, MatrixAt(weights, input_gradient.cols(), layer.out),
                         input_gradient, {.transpose_b = true, .accumulate = true});
      return;
    }
    const Matrix below = gradients_[i - 1].Shape(gradient.rows(), layer.in);
    call.gemm.Multiply(gradient, MatrixAt(weights, layer.in, layer.out), below,
                       {.transpose_b = true, .mask = input.data()});
    new (&gradient) ConstMatrix(Const(below));
  }
}

}  // namespace capstan
