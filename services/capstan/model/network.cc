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
#include "capstan/model/row_inputs.h"
#include "capstan/model/slices.h"
#include "capstan/model/tower.h"

namespace capstan {
namespace {

// A tower and the offset of its tensors in the flat parameters.
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
        towers_(std::move(towers)),
        needs_features_(std::any_of(
            towers_.begin(), towers_.end(),
            [](const PlacedTower& placed) { return placed.tower->description().reads_features; })),
        rows_(shape_.pooled.empty() ? NewKeyedInputs(spec, needs_features_)
                                    : NewPooledInputs(spec)),
        running_(RunningParameters(spec)),
        parameter_count_(static_cast<size_t>(DenseParameterCount(spec))) {}

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
    const std::span<const float> rows = ComputeGradients(input, view, Const(logit_gradient));
    return {.loss_sum = loss_sum,
            .logits = FlatSpan(Const(logits)),
            .rows = rows,
            .parameters = parameter_gradients_,
            .running = running_};
  }

  int row_dim() const override { return rows_->row_dim(); }
  int outputs() const override { return shape_.outputs; }
  int64_t parameter_count() const override { return static_cast<int64_t>(parameter_count_); }

 private:
  // The parts of a batch that towers read.
  struct BatchView {
    Eigen::Index examples;
    KeyedRows keys;
    ConstMatrix dense;
    bool training;
  };

  BatchView ViewOf(const NetworkInput& input, bool training) {
    CAPSTAN_CHECK(input.parameters.size() == parameter_count_);
    CAPSTAN_CHECK(!input.offsets.empty());
    const Eigen::Index examples = std::ssize(input.offsets) - 1;
    CAPSTAN_CHECK(std::ssize(input.dense) == examples * shape_.dense_width);
    const ConstMatrix dense = MatrixAt(input.dense.data(), examples, shape_.dense_width);
    Matrix features = features_.Shape(examples, needs_features_ ? shape_.feature_columns() : 0);
    if (needs_features_) features.rightCols(shape_.dense_width) = dense;
    return {.examples = examples,
            .keys = rows_->Forward(input, gemm_, features),
            .dense = dense,
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

  // Each tower draws with a seed of its own.
  TrainingBatch BatchOf(const NetworkInput& input, const PlacedTower& placed) const {
    const auto tower = static_cast<uint64_t>(&placed - towers_.data());
    return {.seed = Draw(seed_, input.draw, tower), .first_example = input.first_example};
  }

  Matrix ComputeLogits(const NetworkInput& input, const BatchView& view) {
    Matrix logits = logits_.Shape(view.examples, shape_.outputs);
    logits.setZero();
    for (const PlacedTower& placed : towers_) {
      placed.tower->Forward(InputOf(input, view, placed), logits);
    }
    return logits;
  }

  // Returns the gradients of the rows.
  std::span<const float> ComputeGradients(const NetworkInput& input, const BatchView& view,
                                          const ConstMatrix& logit_gradient) {
    TowerGradients gradients = rows_->Gradients();
    for (const PlacedTower& placed : towers_) {
      gradients.parameters = std::span(parameter_gradients_).subspan(placed.begin, placed.count);
      placed.tower->Backward(InputOf(input, view, placed), logit_gradient, gradients);
    }
    return rows_->Backward(input, gemm_);
  }

  const uint64_t seed_;
  const ModelShape shape_;
  const JobScores scores_;
  const bool sum_loss_;
  std::vector<PlacedTower> towers_;
  const bool needs_features_;
  const std::unique_ptr<RowInputs> rows_;
  const std::vector<ParameterRange> running_;

  Gemm gemm_;
  MatrixBuffer features_, logits_, logit_gradient_;
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
  const bool same_tables =
      std::equal(spec.tables().begin(), spec.tables().end(), expected.tables().begin(),
                 expected.tables().end(),
                 [](const v1::TableSpec& a, const v1::TableSpec& b) { return a.dim() == b.dim(); });
  if (same_tables && DenseParameterCount(spec) == static_cast<int64_t>(begin)) return placed;
  return absl::InvalidArgumentError(absl::StrCat(
      "model: its towers have ", begin, " dense parameters and ", expected.tables_size(),
      " tables, the job's layout says ", DenseParameterCount(spec), " and ", spec.tables_size(),
      ", or rows of other lengths"));
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
