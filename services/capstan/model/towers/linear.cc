#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "capstan/model/initializers.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

// Calls visit(example, row, value) for every key of the batch.
template <typename Visit>
void ForEachKey(const KeyedRows& keys, const Visit& visit) {
  for (size_t example = 0; example + 1 < keys.offsets.size(); ++example) {
    for (uint32_t i = keys.offsets[example]; i < keys.offsets[example + 1]; ++i) {
      visit(example, keys.index[i], keys.values.empty() ? 1.0f : keys.values[i]);
    }
  }
}

class Linear : public Tower {
 public:
  explicit Linear(const ModelShape& shape) : shape_(shape) {
    description_.reads_linear = shape.has_keys;
    if (shape.dense_width > 0) {
      const uint32_t width = shape.dense_width, outputs = shape.outputs;
      description_.tensors = {{"weights", {width, outputs}, Zero()}};
    }
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    if (shape_.dense_width > 0) {
      const ConstMatrix weights =
          MatrixAt(input.parameters.data(), shape_.dense_width, shape_.outputs);
      input.gemm.Multiply(input.dense, weights, logits, {.accumulate = true});
    }
    if (!shape_.has_keys) return;
    const ConstMatrix& rows = input.keys.linear;
    const ptrdiff_t stride = rows.outerStride();
    const int outputs = shape_.outputs;
    ForEachKey(input.keys,
               [&, to = logits.data(), from = rows.data()](size_t e, uint32_t row, float x) {
                 for (int c = 0; c < outputs; ++c)
                   to[e * outputs + c] += x * from[row * stride + c];
               });
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    if (shape_.dense_width > 0) {
      input.gemm.Multiply(input.dense, logit_gradient,
                          MatrixAt(gradients.parameters.data(), shape_.dense_width, shape_.outputs),
                          {.transpose_a = true});
    }
    if (!shape_.has_keys) return;
    const ptrdiff_t stride = gradients.linear.outerStride();
    float* const to = const_cast<float*>(gradients.linear.data());
    const int outputs = shape_.outputs;
    ForEachKey(input.keys, [&, from = logit_gradient.data()](size_t e, uint32_t row, float x) {
      for (int c = 0; c < outputs; ++c) to[row * stride + c] += x * from[e * outputs + c];
    });
  }

 private:
  const ModelShape shape_;
  TowerDescription description_;
};

}  // namespace

TowerResult NewLinear(const v1::TowerSpec&, const ModelShape& shape) {
  if (!shape.has_keys && shape.dense_width == 0) {
    return absl::InvalidArgumentError("the data has neither keys nor numbers to weigh");
  }
  return std::make_unique<Linear>(shape);
}

}  // namespace capstan
