#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "capstan/model/dense_stack.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

class Mlp : public Tower {
 public:
  Mlp(std::vector<int> widths, StackOptions options) : stack_(std::move(widths), options) {
    description_.tensors = stack_.Tensors("");
    description_.reads_features = true;
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    logits += stack_.Forward(CallOf(input));
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    stack_.Backward(CallOf(input), logit_gradient, gradients.parameters, gradients.features);
  }

 private:
  static DenseStack::Call CallOf(const TowerInput& input) {
    return {input.features, input.parameters, input.gemm, input.training};
  }

  DenseStack stack_;
  TowerDescription description_;
};

}  // namespace

TowerResult NewMlp(const v1::TowerSpec& spec, const ModelShape& shape) {
  if (absl::Status status = CheckFeatures(shape); !status.ok()) return status;
  std::vector<int> widths = {shape.feature_columns()};
  widths.insert(widths.end(), spec.hidden().begin(), spec.hidden().end());
  widths.push_back(shape.outputs);
  return std::make_unique<Mlp>(std::move(widths), StackOptionsOf(spec));
}

}  // namespace capstan
