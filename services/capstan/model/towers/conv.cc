#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/model/dense_stack.h"
#include "capstan/model/initializers.h"
#include "capstan/model/towers/conv_layer.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

// Parameters: those of every layer, then the head's.
class Conv : public Tower {
 public:
  Conv(std::vector<ConvLayer> layers, DenseStack head)
      : layers_(std::move(layers)),
        head_(std::move(head)),
        pooled_(layers_.size()),
        gradients_(layers_.size()) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const uint32_t in = 9 * layers_[i].shape().channels_in, out = layers_[i].shape().channels_out;
      description_.tensors.push_back(
          {absl::StrCat("kernel_", i), {in, out}, GlorotUniform(in, 9 * out)});
      description_.tensors.push_back({absl::StrCat("kernel_bias_", i), {out}, Zero()});
      head_place_ += layers_[i].parameter_count();
    }
    for (TowerTensor& tensor : head_.Tensors("head_")) description_.tensors.push_back(tensor);
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    size_t place = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      pooled_[i].Shape(logits.rows(), layers_[i].output_size());
      layers_[i].Forward(Below(input, i), input.parameters.subspan(place), input.gemm,
                         pooled_[i].matrix());
      place += layers_[i].parameter_count();
    }
    logits += head_.Forward(HeadCall(input));
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    for (size_t i = 0; i < layers_.size(); ++i) {
      gradients_[i].Shape(logit_gradient.rows(), layers_[i].output_size()).setZero();
    }
    head_.Backward(HeadCall(input), logit_gradient, gradients.parameters.subspan(head_place_),
                   gradients_.back().matrix());
    size_t place = head_place_;
    for (size_t i = layers_.size(); i-- > 0;) {
      place -= layers_[i].parameter_count();
      const Matrix below = i == 0
                               ? MatrixAt(gradients_[0].matrix().data(), logit_gradient.rows(), 0)
                               : gradients_[i - 1].matrix();
      layers_[i].Backward({.input = Below(input, i),
                           .pooled = Const(pooled_[i].matrix()),
                           .pooled_gradient = Const(gradients_[i].matrix()),
                           .parameters = input.parameters.subspan(place),
                           .parameter_gradients = gradients.parameters.subspan(place),
                           .input_gradient = below,
                           .gemm = input.gemm});
    }
  }

 private:
  ConstMatrix Below(const TowerInput& input, size_t i) {
    return i == 0 ? input.dense : Const(pooled_[i - 1].matrix());
  }
  DenseStack::Call HeadCall(const TowerInput& input) {
    return {Const(pooled_.back().matrix()), input.parameters.subspan(head_place_), input.gemm,
            input.training};
  }

  std::vector<ConvLayer> layers_;
  DenseStack head_;
  size_t head_place_ = 0;
  std::vector<MatrixBuffer> pooled_;     // Output of each layer.
  std::vector<MatrixBuffer> gradients_;  // Gradients of these outputs.
  TowerDescription description_;
};

}  // namespace

TowerResult NewConv(const v1::TowerSpec& spec, const ModelShape& shape) {
  int height = shape.image_height, width = shape.image_width;
  if (height == 0 || width == 0) {
    return absl::InvalidArgumentError("the data has no images (data.image_shape)");
  }
  if (shape.dense_width % (height * width) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a record has ", shape.dense_width,
                                                   " numbers, an image ", height, " x ", width));
  }
  if (spec.hidden().empty()) return absl::InvalidArgumentError("hidden (channels) is empty");
  int channels = shape.dense_width / (height * width);
  std::vector<ConvLayer> layers;
  for (const int out : spec.hidden()) {
    if (height < 2 || width < 2) {
      return absl::InvalidArgumentError(absl::StrCat("an image of ", shape.image_height, " x ",
                                                     shape.image_width, " cannot be halved ",
                                                     spec.hidden_size(), " times"));
    }
    layers.emplace_back(ConvShape{height, width, channels, out});
    height /= 2;
    width /= 2;
    channels = out;
  }
  std::vector<int> head = {height * width * channels};
  head.insert(head.end(), shape.hidden.begin(), shape.hidden.end());
  head.push_back(shape.outputs);
  return std::make_unique<Conv>(std::move(layers),
                                DenseStack(std::move(head), StackOptionsOf(spec)));
}

}  // namespace capstan
