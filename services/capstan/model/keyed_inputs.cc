#include <cstddef>

#include "capstan/base/check.h"
#include "capstan/model/layout.h"
#include "capstan/model/row_inputs.h"
#include "capstan/model/segment.h"

namespace capstan {
namespace {

template <typename MatrixType, typename Pointer>
MatrixType SegmentMatrix(Pointer rows, Eigen::Index count, int row_dim, const Segment& segment) {
  Pointer const first =
      count == 0 ? rows
                 : rows + segment.offset;  // Without rows there is no memory to which to point.
  return MatrixType(first, count, segment.width, Eigen::OuterStride<>(row_dim));
}

class KeyedInputs : public RowInputs {
 public:
  KeyedInputs(const v1::JobSpec& spec, bool reads_features)
      : shape_(ShapeOf(spec)),
        columns_(reads_features ? shape_.embedding_columns() : 0),
        row_dim_(spec.tables().empty() ? 0 : static_cast<int>(spec.tables(0).dim())),
        linear_(spec.tables().empty() ? Segment{} : SegmentOf(spec.tables(0), "linear")),
        embedding_(spec.tables().empty() ? Segment{} : SegmentOf(spec.tables(0), "embedding")) {}

  KeyedRows Forward(const NetworkInput& input, Gemm& gemm, Matrix features) override {
    CAPSTAN_CHECK(input.index.size() == input.offsets.back());
    CAPSTAN_CHECK(input.values.empty() || input.values.size() == input.index.size());
    examples_ = std::ssize(input.offsets) - 1;
    distinct_ = row_dim_ == 0 ? 0 : std::ssize(input.rows) / row_dim_;
    const float* rows = input.rows.data();
    const KeyedRows keys = {
        .offsets = input.offsets,
        .index = input.index,
        .values = input.values,
        .linear = SegmentMatrix<ConstMatrix>(rows, distinct_, row_dim_, linear_),
        .embedding = SegmentMatrix<ConstMatrix>(rows, distinct_, row_dim_, embedding_)};
    if (columns_ > 0) {
      kernels::FieldRows fields = FieldsOf(input);
      fields.rows = keys.embedding.data();
      fields.feature_stride = shape_.feature_columns();
      gemm.kernels().gather(fields, features.data());
    }
    return keys;
  }

  TowerGradients Gradients() override {
    Matrix rows = row_gradients_.Shape(distinct_, row_dim_);
    rows.setZero();
    Matrix features = feature_gradients_.Shape(examples_, columns_);
    features.setZero();
    return {.parameters = {},
            .features = features,
            .linear = SegmentMatrix<Matrix>(rows.data(), distinct_, row_dim_, linear_),
            .embedding = SegmentMatrix<Matrix>(rows.data(), distinct_, row_dim_, embedding_)};
  }

  std::span<const float> Backward(const NetworkInput& input, Gemm& gemm) override {
    Matrix rows = row_gradients_.matrix();
    if (columns_ > 0) {
      kernels::FieldRows fields = FieldsOf(input);
      fields.features = feature_gradients_.matrix().data();
      fields.feature_stride = columns_;
      gemm.kernels().scatter(
          fields, SegmentMatrix<Matrix>(rows.data(), distinct_, row_dim_, embedding_).data());
    }
    return FlatSpan(Const(rows));
  }

  int row_dim() const override { return row_dim_; }

 private:
  // The rows and features of the kernel's call must be set by the caller.
  kernels::FieldRows FieldsOf(const NetworkInput& input) const {
    return {.examples = examples_,
            .fields = shape_.fields,
            .dim = shape_.embedding_dim,
            .offsets = input.offsets.data(),
            .index = input.index.data(),
            .values = input.values.empty() ? nullptr : input.values.data(),
            .rows = nullptr,
            .row_stride = row_dim_,
            .features = nullptr,
            .feature_stride = 0};
  }

  const ModelShape shape_;
  const int columns_;  // How many of the columns are embeddings; 0: no tower reads them.
  const int row_dim_;
  const Segment linear_, embedding_;
  Eigen::Index examples_ = 0, distinct_ = 0;  // Those of the last Forward.
  MatrixBuffer feature_gradients_, row_gradients_;
};

}  // namespace

std::unique_ptr<RowInputs> NewKeyedInputs(const v1::JobSpec& spec, bool reads_features) {
  return std::make_unique<KeyedInputs>(spec, reads_features);
}

}  // namespace capstan
