#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "capstan/base/hash.h"
#include "capstan/model/dense_stack.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

// Copies an example's vectors one below the other: the bottom's output, if any, then the
// embeddings.
class Dot : public Tower {
 public:
  Dot(std::optional<DenseStack> bottom, DenseStack top, const ModelShape& shape)
      : bottom_(std::move(bottom)),
        top_(std::move(top)),
        dim_(shape.embedding_dim),
        vectors_(shape.fields + (bottom_ ? 1 : 0)) {
    if (bottom_) description_.tensors = bottom_->Tensors("bottom_");
    for (TowerTensor& tensor : top_.Tensors("top_")) description_.tensors.push_back(tensor);
    description_.reads_features = true;
  }

  const TowerDescription& description() const override { return description_; }

  void Forward(const TowerInput& input, Matrix logits) override {
    const Eigen::Index examples = logits.rows();
    Matrix stacked = stacked_.Shape(examples, vectors_ * dim_);
    const Eigen::Index own = bottom_ ? dim_ : 0;
    if (bottom_) stacked.leftCols(dim_) = bottom_->Forward(BottomCall(input));
    stacked.rightCols(vectors_ * dim_ - own) = input.features.leftCols(vectors_ * dim_ - own);

    Matrix interactions = interactions_.Shape(examples, top_.input_width());
    interactions.leftCols(own) = stacked.leftCols(own);
    Matrix products = products_.Shape(vectors_, vectors_);
    for (Eigen::Index i = 0; i < examples; ++i) {
      const ConstMatrix v = Const(MatrixAt(&stacked(i, 0), vectors_, dim_));
      input.gemm.Multiply(v, v, products, {.transpose_b = true});
      float* to = interactions.data() + i * interactions.cols() + own;
      for (int a = 1; a < vectors_; ++a) to = std::copy_n(&products(a, 0), a, to);
    }
    logits += top_.Forward(TopCall(input));
  }

  void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                const TowerGradients& gradients) override {
    const Eigen::Index examples = logit_gradient.rows(), own = bottom_ ? dim_ : 0;
    const size_t bottom_size = bottom_ ? static_cast<size_t>(bottom_->parameter_count()) : 0;
    Matrix d_interactions = d_interactions_.Shape(examples, top_.input_width());
    d_interactions.setZero();
    top_.Backward(TopCall(input), logit_gradient, gradients.parameters.subspan(bottom_size),
                  d_interactions);

    Matrix d_stacked = d_stacked_.Shape(examples, vectors_ * dim_);
    BackwardProducts(input.gemm, d_interactions, d_stacked);
    d_stacked.leftCols(own) += d_interactions.leftCols(own);
    Matrix features = gradients.features;
    features += d_stacked.rightCols(vectors_ * dim_ - own);
    if (!bottom_) return;
    bottom_->Backward(BottomCall(input), Columns(Const(d_stacked), 0, dim_),
                      gradients.parameters.first(bottom_size),
                      MatrixAt(features.data(), examples, 0));
  }

 private:
  DenseStack::Call BottomCall(const TowerInput& input) const {
    return {input.dense, input.parameters, input.gemm, input.training};
  }
  DenseStack::Call TopCall(const TowerInput& input) {
    const size_t bottom_size = bottom_ ? static_cast<size_t>(bottom_->parameter_count()) : 0;
    return {Const(interactions_.matrix()), input.parameters.subspan(bottom_size), input.gemm,
            TopBatch(input)};
  }

  // Returns the batch with another seed, so that dropout in the top layers does not repeat the
  // draws of the bottom layers.
  static std::optional<TrainingBatch> TopBatch(const TowerInput& input) {
    std::optional<TrainingBatch> batch = input.training;
    if (batch) batch->seed = Mix64(batch->seed);
    return batch;
  }

  // The gradient of the product of vectors a and b goes to both: dv = S v, where S is the symmetric
  // matrix of the products' gradients.
  void BackwardProducts(Gemm& gemm, Matrix& d_interactions, Matrix& d_stacked) {
    Matrix stacked = stacked_.matrix(), symmetric = products_.Shape(vectors_, vectors_);
    const Eigen::Index own = bottom_ ? dim_ : 0;
    symmetric.setZero();
    for (Eigen::Index i = 0; i < stacked.rows(); ++i) {
      const float* from = &d_interactions(i, own);
      for (int a = 1; a < vectors_; ++a) {
        for (int b = 0; b < a; ++b) symmetric(a, b) = symmetric(b, a) = *from++;
      }
      gemm.Multiply(Const(symmetric), Const(MatrixAt(&stacked(i, 0), vectors_, dim_)),
                    MatrixAt(&d_stacked(i, 0), vectors_, dim_));
    }
  }

  std::optional<DenseStack> bottom_;
  DenseStack top_;
  const int dim_, vectors_;
  TowerDescription description_;
  MatrixBuffer stacked_, d_stacked_, interactions_, d_interactions_;
  MatrixBuffer products_;  // The products of one example.
};

}  // namespace

TowerResult NewDot(const v1::TowerSpec& spec, const ModelShape& shape) {
  if (absl::Status status = CheckFeatures(shape); !status.ok()) return status;
  if (absl::Status status = CheckOneDim(shape); !status.ok()) return status;
  if (shape.fields == 0) {
    return absl::InvalidArgumentError(
        "multiplies embeddings, and the data have no keys; expected categorical columns, or "
        "libsvm or libfm data with data.fields");
  }
  std::optional<DenseStack> bottom;
  if (shape.dense_width > 0) {
    std::vector<int> widths = {shape.dense_width};
    widths.insert(widths.end(), spec.hidden().begin(), spec.hidden().end());
    widths.push_back(shape.embedding_dim);
    bottom.emplace(std::move(widths), StackOptionsOf(spec));
  }
  const int vectors = shape.fields + (bottom ? 1 : 0);
  if (vectors < 2) return absl::InvalidArgumentError("needs at least two fields");
  std::vector<int> top = {vectors * (vectors - 1) / 2 + (bottom ? shape.embedding_dim : 0)};
  top.insert(top.end(), shape.hidden.begin(), shape.hidden.end());
  top.push_back(shape.outputs);
  return std::make_unique<Dot>(std::move(bottom), DenseStack(std::move(top), StackOptionsOf(spec)),
                               shape);
}

}  // namespace capstan
