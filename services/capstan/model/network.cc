#include "capstan/model/network.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/model/gemm.h"
#include "capstan/model/job_scores.h"
#include "capstan/model/layout.h"
#include "capstan/model/loss.h"
#include "capstan/model/matrix.h"
#include "capstan/model/parallel_network.h"
#include "capstan/model/slices.h"
#include "capstan/model/tower.h"

namespace capstan {
namespace {

// Where a segment lies in a row. Its width is 0 if the table lacks the segment.
struct Segment {
  int offset = 0;
  int width = 0;
};

Segment SegmentOf(const v1::JobSpec& spec, const std::string& name) {
  if (spec.tables().empty()) return {};
  for (const v1::TableSegment& segment : spec.tables(0).segments()) {
    if (segment.name() != name) continue;
    return {static_cast<int>(segment.offset()), static_cast<int>(segment.width())};
  }
  return {};
}

template <typename MatrixType, typename Pointer>
MatrixType SegmentMatrix(Pointer rows, Eigen::Index count, int row_dim, const Segment& segment) {
  Pointer const first =
      count == 0 ? rows : rows + segment.offset;  // Without rows there is no memory to point into.
  return MatrixType(first, count, segment.width, Eigen::OuterStride<>(row_dim));
}

// A tower and the place of its tensors in the flat parameters.
struct PlacedTower {
  std::unique_ptr<Tower> tower;
  size_t begin = 0, count = 0;
};

class TowerNetwork : public Network {
 public:
  TowerNetwork(const v1::JobSpec& spec, std::vector<PlacedTower> towers)
      : seed_(spec.seed()),
        shape_(ShapeOf(spec)),
        scores_(spec),
        sum_loss_(spec.train().sum_loss()),
        row_dim_(spec.tables().empty() ? 0 : static_cast<int>(spec.tables(0).dim())),
        linear_(SegmentOf(spec, "linear")),
        embedding_(SegmentOf(spec, "embedding")),
        towers_(std::move(towers)),
        running_(RunningParameters(spec)),
        parameter_count_(static_cast<size_t>(DenseParameterCount(spec))) {
    for (const PlacedTower& placed : towers_) {
      needs_features_ |= placed.tower->description().reads_features;
    }
  }

  std::span<const float> Forward(const NetworkInput& input) override {
    const Matrix logits = ComputeLogits(input, ViewOf(input, /*training=*/false));
    return FlatSpan(Const(logits));
  }

  NetworkGradients ForwardBackward(const NetworkInput& input) override {
    parameter_gradients_.resize(parameter_count_);  // A network that only scores has none.
    const BatchView view = ViewOf(input, /*training=*/true);
    const Matrix logits = ComputeLogits(input, view);
    const Eigen::Index examples = logits.rows();
    Matrix logit_gradient = logit_gradient_.Shape(examples, shape_.outputs);
    const float scale = sum_loss_ || examples == 0 ? 1.0f : 1.0f / static_cast<float>(examples);
    const double loss_sum = LossSumAndGradient(
        scores_.Trained(
            {.logits = FlatSpan(Const(logits)), .labels = input.labels, .weights = input.weights}),
        scale, {logit_gradient.data(), static_cast<size_t>(logit_gradient.size())});
    const Matrix rows = ComputeGradients(input, view, Const(logit_gradient));
    return {.loss_sum = loss_sum,
            .logits = FlatSpan(Const(logits)),
            .rows = FlatSpan(Const(rows)),
            .parameters = parameter_gradients_,
            .running = running_};
  }

  int row_dim() const override { return row_dim_; }
  int outputs() const override { return shape_.outputs; }
  int64_t parameter_count() const override { return static_cast<int64_t>(parameter_count_); }

 private:
  // The parts of a batch that towers see.
  struct BatchView {
    Eigen::Index examples, distinct;
    KeyedRows keys;
    ConstMatrix dense;
    bool training;
  };

  BatchView ViewOf(const NetworkInput& input, bool training) const {
    CAPSTAN_CHECK(input.parameters.size() == parameter_count_);
    CAPSTAN_CHECK(!input.offsets.empty());
    const Eigen::Index examples = std::ssize(input.offsets) - 1;
    const Eigen::Index distinct = row_dim_ == 0 ? 0 : std::ssize(input.rows) / row_dim_;
    CAPSTAN_CHECK(std::ssize(input.dense) == examples * shape_.dense_width);
    CAPSTAN_CHECK(input.index.size() == input.offsets.back());
    CAPSTAN_CHECK(input.values.empty() || input.values.size() == input.index.size());
    const float* rows = input.rows.data();
    return {.examples = examples,
            .distinct = distinct,
            .keys = {.offsets = input.offsets,
                     .index = input.index,
                     .values = input.values,
                     .linear = SegmentMatrix<ConstMatrix>(rows, distinct, row_dim_, linear_),
                     .embedding = SegmentMatrix<ConstMatrix>(rows, distinct, row_dim_, embedding_)},
            .dense = MatrixAt(input.dense.data(), examples, shape_.dense_width),
            .training = training};
  }

  TowerInput InputOf(const NetworkInput& input, const BatchView& view, const PlacedTower& placed) {
    return {.keys = view.keys,
            .features = Const(features_.matrix()),
            .dense = view.dense,
            .parameters = input.parameters.subspan(placed.begin, placed.count),
            .gemm = gemm_,
            .training = view.training ? std::make_optional(BatchOf(input, placed)) : std::nullopt};
  }

  // Each tower draws from a seed of its own.
  TrainingBatch BatchOf(const NetworkInput& input, const PlacedTower& placed) const {
    const auto tower = static_cast<uint64_t>(&placed - towers_.data());
    return {.seed = Draw(seed_, input.draw, tower), .first_example = input.first_example};
  }

  kernels::FieldRows FieldsOf(const KeyedRows& keys, Eigen::Index examples) const {
    return {.examples = examples,
            .fields = shape_.fields,
            .dim = shape_.embedding_dim,
            .offsets = keys.offsets.data(),
            .index = keys.index.data(),
            .values = keys.values.empty() ? nullptr : keys.values.data(),
            .rows = keys.embedding.data(),
            .row_stride = row_dim_,
            .features = nullptr,
            .feature_stride = shape_.feature_columns()};
  }

  Matrix ComputeLogits(const NetworkInput& input, const BatchView& view) {
    Matrix features =
        features_.Shape(view.examples, needs_features_ ? shape_.feature_columns() : 0);
    if (needs_features_ && shape_.embedding_columns() > 0) {
      gemm_.kernels().gather(FieldsOf(view.keys, view.examples), features.data());
    }
    if (needs_features_) features.rightCols(shape_.dense_width) = view.dense;
    Matrix logits = logits_.Shape(view.examples, shape_.outputs);
    logits.setZero();
    for (const PlacedTower& placed : towers_) {
      placed.tower->Forward(InputOf(input, view, placed), logits);
    }
    return logits;
  }

  // Returns the gradients of the rows.
  Matrix ComputeGradients(const NetworkInput& input, const BatchView& view,
                          const ConstMatrix& logit_gradient) {
    Matrix rows = row_gradients_.Shape(view.distinct, row_dim_);
    rows.setZero();
    const int columns = needs_features_ ? shape_.embedding_columns() : 0;
    Matrix features = feature_gradients_.Shape(view.examples, columns);
    features.setZero();
    TowerGradients gradients = {
        .parameters = {},
        .features = features,
        .linear = SegmentMatrix<Matrix>(rows.data(), view.distinct, row_dim_, linear_),
        .embedding = SegmentMatrix<Matrix>(rows.data(), view.distinct, row_dim_, embedding_)};
    for (const PlacedTower& placed : towers_) {
      gradients.parameters = std::span(parameter_gradients_).subspan(placed.begin, placed.count);
      placed.tower->Backward(InputOf(input, view, placed), logit_gradient, gradients);
    }
    if (columns > 0) {
      kernels::FieldRows fields = FieldsOf(view.keys, view.examples);
      fields.features = features.data();
      fields.feature_stride = columns;
      gemm_.kernels().scatter(fields, gradients.embedding.data());
    }
    return rows;
  }

  const uint64_t seed_;
  const ModelShape shape_;
  const JobScores scores_;
  const bool sum_loss_;
  const int row_dim_;
  const Segment linear_, embedding_;
  bool needs_features_ = false;
  std::vector<PlacedTower> towers_;
  const std::vector<ParameterRange> running_;

  Gemm gemm_;
  MatrixBuffer features_, feature_gradients_, logits_, logit_gradient_, row_gradients_;
  size_t parameter_count_;
  std::vector<float> parameter_gradients_;
};

// Checks the towers' tensors against those of `spec`, in order.
absl::StatusOr<std::vector<PlacedTower>> PlaceTowers(const v1::JobSpec& spec) {
  v1::JobSpec expected = spec;
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(expected));
  CAPSTAN_ASSIGN_OR_RETURN(auto towers, MakeTowers(expected));
  std::vector<PlacedTower> placed;
  size_t begin = 0;
  int tensor = 0;
  for (std::unique_ptr<Tower>& tower : towers) {
    size_t count = 0;
    for (size_t i = 0; i < tower->description().tensors.size(); ++i, ++tensor) {
      count += static_cast<size_t>(ElementCount(expected.tensors(tensor)));
    }
    placed.push_back({std::move(tower), begin, count});
    begin += count;
  }
  const bool same_table =
      spec.tables_size() == expected.tables_size() &&
      (spec.tables().empty() || spec.tables(0).dim() == expected.tables(0).dim());
  if (same_table && DenseParameterCount(spec) == static_cast<int64_t>(begin)) return placed;
  return absl::InvalidArgumentError(absl::StrCat(
      "model: its towers have ", begin, " dense parameters and ", expected.tables_size(),
      " table, the job's layout says ", DenseParameterCount(spec), " and ", spec.tables_size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Create(const v1::JobSpec& spec) {
  const uint32_t threads = std::max(1u, spec.train().step_threads());
  std::vector<std::unique_ptr<Network>> slices;
  for (uint32_t i = 0; i < SlicesFor(threads); ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(std::vector<PlacedTower> towers, PlaceTowers(spec));
    slices.push_back(std::make_unique<TowerNetwork>(spec, std::move(towers)));
  }
  if (slices.size() == 1) return std::move(slices[0]);
  return NewParallelNetwork(std::move(slices), threads,
                            /*mean_gradients=*/!spec.train().sum_loss());
}

}  // namespace capstan
