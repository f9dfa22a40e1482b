// Your own tower: a factorization machine that weighs each pair of fields (Pan et al., 2018).
// For an example with the embeddings e_0 .. e_(n-1) it adds the sum of weights[p] <e_a, e_b> over
// all pairs a < b, where p counts the pairs (0, 1), (0, 2), ..., (1, 2), ...
//
// CMakeLists.txt builds it into the programs.
//
//   job.yaml:  model: {towers: [{kind: linear}, {kind: field_weighted_fm}, {kind: bias}]}
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/model/tower.h"

namespace capstan {
namespace {

// The embedding, of `dim` numbers, of a field in row i of a feature matrix.
template <typename AnyMatrix>
auto EmbeddingAt(AnyMatrix& features, Eigen::Index i, int field, int dim) {
  return features.row(i).segment(field * dim, dim);
}

class FieldWeightedFm : public Tower {
 public:
  explicit FieldWeightedFm(const ModelShape& shape)
      : fields_(shape.fields), dim_(shape.embedding_dim) {
    v1::Initializer one;  // It begins as a plain factorization machine.
    one.set_kind(v1::INITIALIZER_KIND_CONSTANT);
    one.set_scale(1);
    description_.tensors = {{"weights", {static_cast<uint32_t>(fields_ * (fields_ - 1) / 2)}, one}};
    description_.reads_features = true;
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    for (Eigen::Index i = 0; i < logits.rows(); ++i) {
      ForEachPair([&](int pair, int a, int b) {
        logits(i, 0) +=
            input.parameters[static_cast<size_t>(pair)] *
            EmbeddingAt(input.features, i, a, dim_).dot(EmbeddingAt(input.features, i, b, dim_));
      });
    }
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    std::fill(gradients.parameters.begin(), gradients.parameters.end(), 0.0f);
    Matrix features = gradients.features;
    for (Eigen::Index i = 0; i < logit_gradient.rows(); ++i) {
      const float gradient = logit_gradient(i, 0);
      ForEachPair([&](int pair, int a, int b) {
        const auto of_a = EmbeddingAt(input.features, i, a, dim_),
                   of_b = EmbeddingAt(input.features, i, b, dim_);
        const float weight = input.parameters[static_cast<size_t>(pair)];
        gradients.parameters[static_cast<size_t>(pair)] += gradient * of_a.dot(of_b);
        EmbeddingAt(features, i, a, dim_) += gradient * weight * of_b;
        EmbeddingAt(features, i, b, dim_) += gradient * weight * of_a;
      });
    }
  }

 private:
  template <typename Visit>
  void ForEachPair(Visit visit) const {
    int pair = 0;
    for (int a = 0; a < fields_; ++a) {
      for (int b = a + 1; b < fields_; ++b) visit(pair++, a, b);
    }
  }

  const int fields_, dim_;
  TowerDescription description_;
};

absl::StatusOr<std::unique_ptr<Tower>> NewFieldWeightedFm(const v1::TowerSpec&,
                                                          const ModelShape& shape) {
  if (absl::Status status = CheckFeatures(shape); !status.ok()) return status;
  if (absl::Status status = CheckOneDim(shape); !status.ok()) return status;
  if (shape.fields < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs two fields, the data have ", shape.fields));
  }
  if (shape.outputs != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("has one output, the model has ", shape.outputs));
  }
  return std::make_unique<FieldWeightedFm>(shape);
}

const TowerRegistration kFieldWeightedFm("field_weighted_fm", NewFieldWeightedFm);

}  // namespace
}  // namespace capstan
