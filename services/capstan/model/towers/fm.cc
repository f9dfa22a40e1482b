#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

class Fm : public Tower {
 public:
  Fm() { description_.reads_embedding = true; }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    const Matrix sums = sums_.Shape(logits.rows(), input.keys.embedding.cols());
    input.gemm.kernels().fm_forward(BatchOf(input.keys, sums), logits.data());
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    input.gemm.kernels().fm_backward(BatchOf(input.keys, sums_.matrix()), logit_gradient.data(),
                                     const_cast<float*>(gradients.embedding.data()));
  }

 private:
  static kernels::FmBatch BatchOf(const KeyedRows& keys, Matrix sums) {
    return {.examples = sums.rows(),
            .dim = keys.embedding.cols(),
            .offsets = keys.offsets.data(),
            .index = keys.index.data(),
            .values = keys.values.empty() ? nullptr : keys.values.data(),
            .rows = keys.embedding.data(),
            .row_stride = keys.embedding.outerStride(),
            .sums = sums.data()};
  }

  TowerDescription description_;
  MatrixBuffer sums_;  // [examples x dim].
};

}  // namespace

TowerResult NewFm(const v1::TowerSpec&, const ModelShape& shape) {
  if (!shape.has_keys) return absl::InvalidArgumentError("the data has no keys to pair");
  if (absl::Status status = CheckOneDim(shape); !status.ok()) return status;
  if (shape.outputs != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("has one output, the model has ", shape.outputs));
  }
  if (shape.embedding_dim > kernels::kMaxFmDim) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding_dim is ", shape.embedding_dim, ", at most ", kernels::kMaxFmDim));
  }
  return std::make_unique<Fm>();
}

}  // namespace capstan
