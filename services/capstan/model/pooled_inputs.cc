#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/model/layout.h"
#include "capstan/model/row_inputs.h"
#include "capstan/model/segment.h"

namespace capstan {
namespace {

class PooledInputs : public RowInputs {
 public:
  explicit PooledInputs(const v1::JobSpec& spec) {
    for (const v1::TableSpec& table : spec.tables()) {
      tables_.push_back({.row_dim = static_cast<ptrdiff_t>(table.dim()),
                         .linear = SegmentOf(table, "linear"),
                         .embedding = SegmentOf(table, "embedding")});
      outputs_ = std::max(outputs_, tables_.back().linear.width);
    }
    for (const size_t table : TablesOfFeatures(spec)) {
      const v1::FeatureSpec& feature = spec.data().features(static_cast<int>(features_.size()));
      features_.push_back(
          {.table = table, .mean = feature.pooling() == v1::POOLING_MEAN, .column = columns_});
      columns_ += tables_[table].embedding.width;
    }
    const int dim = tables_[features_.front().table].embedding.width;
    const bool one_dim =
        std::all_of(features_.begin(), features_.end(), [this, dim](const Feature& feature) {
          return tables_[feature.table].embedding.width == dim;
        });
    one_dim_ = one_dim ? dim : 0;
  }

  KeyedRows Forward(const NetworkInput& input, Gemm& gemm, Matrix features) override {
    Check(input);
    examples_ = std::ssize(input.offsets) - 1;
    NumberKeys();
    Matrix linear = linear_.Shape(Keys(), outputs_);
    Matrix embeddings = embeddings_.Shape(examples_, columns_);
    for (size_t f = 0; f < features_.size(); ++f) {
      Pool(BagsOf(input, f, LinearOf(f)), linear.data() + LinearOf(f).place, gemm);
      Pool(BagsOf(input, f, EmbeddingOf(f)), embeddings.data() + EmbeddingOf(f).place, gemm);
    }
    if (features.cols() > 0) features.leftCols(columns_) = embeddings;
    return {.offsets = std::span(offsets_).first(static_cast<size_t>(examples_) + 1),
            .index = std::span(index_).first(static_cast<size_t>(Keys())),
            .values = {},
            .linear = Const(linear),
            .embedding = Const(MatrixAt(embeddings.data(), Keys(), one_dim_))};
  }

  // The embeddings side by side and those by features share the same memory.
  TowerGradients Gradients() override {
    Matrix linear = linear_gradients_.Shape(Keys(), outputs_);
    linear.setZero();
    Matrix embeddings = embedding_gradients_.Shape(examples_, columns_);
    embeddings.setZero();
    return {.parameters = {},
            .features = embeddings,
            .linear = linear,
            .embedding = MatrixAt(embeddings.data(), Keys(), one_dim_)};
  }

  std::span<const float> Backward(const NetworkInput& input, Gemm& gemm) override {
    size_t floats = 0;
    for (size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].begin = floats;
      floats += input.tables[t].rows.size();
    }
    row_gradients_.assign(floats, 0);
    const float* linear = linear_gradients_.matrix().data();
    const float* embeddings = embedding_gradients_.matrix().data();
    for (size_t f = 0; f < features_.size(); ++f) {
      if (input.tables[features_[f].table].rows.empty()) continue;
      Unpool(BagsOf(input, f, LinearOf(f)), linear, LinearOf(f), gemm);
      Unpool(BagsOf(input, f, EmbeddingOf(f)), embeddings, EmbeddingOf(f), gemm);
    }
    return row_gradients_;
  }

  int row_dim() const override { return 0; }

 private:
  struct TableShape {
    ptrdiff_t row_dim;
    Segment linear, embedding;
    size_t begin = 0;  // Where its rows begin in the gradients of the last Backward.
  };
  struct Feature {
    size_t table;
    bool mean;
    int column;  // Where its embedding begins in an example's columns.
  };

  // A segment of the rows of a feature, and its position in the pooled vectors of an example, which
  // are `stride` floats from one example to the next.
  struct Part {
    size_t rows;  // Offset of the segment of the first row in all rows' gradients.
    Segment segment;
    ptrdiff_t place, stride;
  };
  Part LinearOf(size_t feature) const {
    const TableShape& table = tables_[features_[feature].table];
    return {.rows = table.begin + static_cast<size_t>(table.linear.offset),
            .segment = table.linear,
            .place = static_cast<ptrdiff_t>(feature) * outputs_,
            .stride = std::ssize(features_) * outputs_};
  }
  Part EmbeddingOf(size_t feature) const {
    const TableShape& table = tables_[features_[feature].table];
    return {.rows = table.begin + static_cast<size_t>(table.embedding.offset),
            .segment = table.embedding,
            .place = features_[feature].column,
            .stride = columns_};
  }

  void Check(const NetworkInput& input) const {
    CAPSTAN_CHECK(input.features.size() == features_.size());
    CAPSTAN_CHECK(input.tables.size() == tables_.size());
    for (size_t f = 0; f < features_.size(); ++f) {
      const FeatureKeys& keys = input.features[f];
      CAPSTAN_CHECK(keys.offsets.size() == input.offsets.size());
      const size_t end = keys.begin + keys.offsets.back();
      CAPSTAN_CHECK(end <= input.tables[features_[f].table].index.size());
      CAPSTAN_CHECK(keys.weights.empty() || keys.weights.size() >= keys.offsets.back());
    }
  }

  // Towers get one key for each feature of each example, the row of which is a pooled vector.
  Eigen::Index Keys() const { return examples_ * std::ssize(features_); }

  void NumberKeys() {
    while (std::ssize(index_) < Keys()) index_.push_back(static_cast<uint32_t>(index_.size()));
    while (std::ssize(offsets_) <= examples_) {
      offsets_.push_back(static_cast<uint32_t>(offsets_.size() * features_.size()));
    }
  }

  // The gradients of the vectors must be set by the caller.
  kernels::BagRows BagsOf(const NetworkInput& input, size_t feature, const Part& part) const {
    const Feature& of = features_[feature];
    const FeatureKeys& keys = input.features[feature];
    const TableRows& table = input.tables[of.table];
    return {.examples = examples_,
            .width = part.segment.width,
            .offsets = keys.offsets.data(),
            .index = table.index.data() + keys.begin,
            .weights = keys.weights.empty() ? nullptr : keys.weights.data(),
            .mean = of.mean,
            // Without rows there is no memory to which to point.
            .rows = table.rows.empty() ? nullptr : table.rows.data() + part.segment.offset,
            .row_stride = tables_[of.table].row_dim,
            .gradient = nullptr,
            .pooled_stride = part.stride};
  }

  static void Pool(const kernels::BagRows& bags, float* pooled, Gemm& gemm) {
    if (bags.width > 0) gemm.kernels().pool(bags, pooled);
  }

  void Unpool(kernels::BagRows bags, const float* gradients, const Part& part, Gemm& gemm) {
    if (bags.width == 0) return;
    bags.gradient = gradients + part.place;
    gemm.kernels().unpool(bags, row_gradients_.data() + part.rows);
  }

  std::vector<TableShape> tables_;
  std::vector<Feature> features_;
  int outputs_ = 0;                        // The width of linear segments; 0: the tables have none.
  int columns_ = 0;                        // The total length of the embeddings of an example.
  int one_dim_ = 0;                        // The length of each of them; 0 if they differ.
  Eigen::Index examples_ = 0;              // Those of the last Forward.
  std::vector<uint32_t> offsets_, index_;  // Those of the towers' keys, for the largest batch.
  MatrixBuffer linear_, embeddings_, linear_gradients_, embedding_gradients_;
  std::vector<float> row_gradients_;
};

}  // namespace

std::unique_ptr<RowInputs> NewPooledInputs(const v1::JobSpec& spec) {
  return std::make_unique<PooledInputs>(spec);
}

}  // namespace capstan
