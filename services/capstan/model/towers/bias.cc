#include <algorithm>

#include "capstan/model/initializers.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

class Bias : public Tower {
 public:
  explicit Bias(const ModelShape& shape) {
    description_.tensors = {{"bias", {static_cast<uint32_t>(shape.outputs)}, Zero()}};
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    logits.rowwise() +=
        Eigen::Map<const Eigen::RowVectorXf>(input.parameters.data(), logits.cols());
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    std::fill(gradients.parameters.begin(), gradients.parameters.end(), 0.0f);
    input.gemm.AddColumnSums(logit_gradient, gradients.parameters);
  }

 private:
  TowerDescription description_;
};

}  // namespace

TowerResult NewBias(const v1::TowerSpec&, const ModelShape& shape) {
  return std::make_unique<Bias>(shape);
}

}  // namespace capstan
