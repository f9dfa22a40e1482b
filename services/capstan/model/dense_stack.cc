#include "capstan/model/dense_stack.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/model/activation.h"
#include "capstan/model/initializers.h"

namespace capstan {

StackOptions StackOptionsOf(const v1::TowerSpec& spec) {
  return {
      .batch_norm = spec.batch_norm(), .activation = spec.activation(), .dropout = spec.dropout()};
}

DenseStack::DenseStack(std::vector<int> widths, StackOptions options)
    : widths_(std::move(widths)), options_(options) {
  CAPSTAN_CHECK(widths_.size() >= 2);
  int64_t place = 0;
  for (size_t i = 0; i + 1 < widths_.size(); ++i) {
    const int64_t out = widths_[i + 1], bias = place + widths_[i] * out;
    const bool normalizes = options_.batch_norm && i + 2 < widths_.size();
    layers_.push_back({widths_[i], widths_[i + 1], place, bias, normalizes});
    place = bias + (normalizes ? 4 : 1) * out;
  }
  outputs_.resize(layers_.size());
  products_.resize(layers_.size() - 1);
  norms_.resize(layers_.size() - 1);
  factors_.resize(layers_.size() - 1);
  gradients_.resize(layers_.size() - 1);
}

bool DenseStack::relu() const {
  return options_.activation == v1::ACTIVATION_UNSPECIFIED ||
         options_.activation == v1::ACTIVATION_RELU;
}

std::vector<TowerTensor> DenseStack::Tensors(std::string_view prefix) const {
  std::vector<TowerTensor> tensors;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const uint32_t in = layers_[i].in, out = layers_[i].out;
    const absl::string_view name(prefix.data(), prefix.size());
    tensors.push_back({absl::StrCat(name, "weights_", i), {in, out}, GlorotUniform(in, out)});
    tensors.push_back({absl::StrCat(name, "bias_", i), {out}, Zero()});
    if (!layers_[i].normalizes) continue;
    tensors.push_back({absl::StrCat(name, "scale_", i), {out}, Constant(1)});
    tensors.push_back({absl::StrCat(name, "mean_", i), {out}, Zero(), v1::TENSOR_ROLE_RUNNING});
    tensors.push_back(
        {absl::StrCat(name, "variance_", i), {out}, Constant(1), v1::TENSOR_ROLE_RUNNING});
  }
  return tensors;
}

int64_t DenseStack::parameter_count() const { return layers_.back().bias + layers_.back().out; }

BatchNorm::Parameters DenseStack::NormOf(const Layer& layer, const float* parameters) {
  const float* const shift = parameters + layer.bias;
  return {.scale = shift + layer.out,
          .shift = shift,
          .mean = shift + 2 * layer.out,
          .variance = shift + 3 * layer.out};
}

ConstMatrix DenseStack::Forward(const Call& call) {
  ConstMatrix input = call.input;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool hidden = i + 1 < layers_.size();
    const float* parameters = call.parameters.data();
    const Matrix output = outputs_[i].Shape(input.rows(), layer.out);
    const bool fused = !hidden || (relu() && !layer.normalizes);
    const Matrix product = fused ? output : products_[i].Shape(input.rows(), layer.out);
    const size_t shifts = layer.normalizes ? 0 : static_cast<size_t>(layer.out);
    call.gemm.Multiply(input, MatrixAt(parameters + layer.weights, layer.in, layer.out), product,
                       {.bias = {parameters + layer.bias, shifts}, .relu = hidden && fused});
    if (layer.normalizes) {
      const BatchNorm::Parameters norm = NormOf(layer, parameters);
      if (call.training) {
        norms_[i].TrainForward(norm, Const(product), product);
      } else {
        norms_[i].Score(norm, Const(product), product);
      }
    }
    if (!fused) Activate(options_.activation, Const(product), output);
    if (hidden && drops(call)) Drop(*call.training, i, output);
    new (&input) ConstMatrix(Const(output));
  }
  return input;
}

// The draws for an example do not depend on which slice of the batch it is in.
void DenseStack::Drop(const TrainingBatch& batch, size_t layer, Matrix output) {
  const uint64_t seed = Draw(batch.seed, layer, 0);
  const float scale = 1 / (1 - options_.dropout);
  Matrix factors = factors_[layer].Shape(output.rows(), output.cols());
  for (Eigen::Index i = 0; i < output.rows(); ++i) {
    const uint64_t example = batch.first_example + static_cast<uint64_t>(i);
    for (Eigen::Index j = 0; j < output.cols(); ++j) {
      const double unit = Unit(Draw(seed, example, static_cast<uint64_t>(j)));
      factors(i, j) = unit < options_.dropout ? 0 : scale;
    }
  }
  output.array() *= factors.array();
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
    if (!layer.normalizes) {
      const std::span<float> bias(gradients + layer.bias, static_cast<size_t>(layer.out));
      std::fill(bias.begin(), bias.end(), 0.0f);
      call.gemm.AddColumnSums(gradient, bias);
    }

    const float* const weights = call.parameters.data() + layer.weights;
    if (i == 0) {
      if (input_gradient.cols() == 0) return;
      call.gemm.Multiply(gradient, MatrixAt(weights, input_gradient.cols(), layer.out),
                         input_gradient, {.transpose_b = true, .accumulate = true});
      return;
    }
    const Matrix below = gradients_[i - 1].Shape(gradient.rows(), layer.in);
    call.gemm.Multiply(gradient, MatrixAt(weights, layer.in, layer.out), below,
                       {.transpose_b = true, .mask = relu() ? input.data() : nullptr});
    if (drops(call)) Matrix(below).array() *= factors_[i - 1].matrix().array();
    if (!relu()) {
      MultiplyByDerivative(options_.activation, Const(products_[i - 1].matrix()), below);
    }
    if (const Layer& under = layers_[i - 1]; under.normalizes) {
      float* const shift = gradients + under.bias;
      norms_[i - 1].Backward(NormOf(under, call.parameters.data()), below,
                             {.scale = shift + under.out,
                              .shift = shift,
                              .mean = shift + 2 * under.out,
                              .variance = shift + 3 * under.out});
    }
    new (&gradient) ConstMatrix(Const(below));
  }
}

}  // namespace capstan
