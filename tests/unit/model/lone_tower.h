// One tower alone, with parameters and inputs that a test writes down.
#ifndef CAPSTAN_TESTS_UNIT_MODEL_LONE_TOWER_H_
#define CAPSTAN_TESTS_UNIT_MODEL_LONE_TOWER_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/model/tower.h"

namespace capstan {

// What a tower is given; what is empty is not read.
struct TowerBatch {
  std::vector<float> parameters = {};
  std::vector<float> features = {};  // The feature columns of one example after another.
  std::vector<float> dense = {};     // The dense input of one example after another.
  std::vector<uint32_t> offsets = {};
  std::vector<uint32_t> index = {};
  std::vector<float> values = {};
  std::vector<float> linear = {};     // Rows of as many columns as there are outputs.
  std::vector<float> embedding = {};  // Rows of embedding_dim columns.
};

class LoneTower {
 public:
  LoneTower(const v1::TowerSpec& spec, ModelShape shape)
      : shape_(std::move(shape)), tower_(Made(spec, shape_)) {}

  const TowerDescription& description() const { return tower_->description(); }
  std::vector<std::string> TensorNames() const {
    std::vector<std::string> names;
    for (const TowerTensor& tensor : description().tensors) names.push_back(tensor.name);
    return names;
  }

  // The logits of all examples, which were `before` each.
  std::vector<float> Forward(const TowerBatch& batch, int examples, float before = 0) {
    std::vector<float> logits(static_cast<size_t>(examples * shape_.outputs), before);
    tower_->Forward(InputOf(batch, examples), MatrixAt(logits.data(), examples, shape_.outputs));
    return logits;
  }

  // Gradients after the last Forward of this batch. Those of parameters were 77, all others 1.
  struct Gradients {
    std::vector<float> parameters;
    std::vector<float> features;
    std::vector<float> linear;
    std::vector<float> embedding;
  };
  Gradients Backward(const TowerBatch& batch, const std::vector<float>& logit_gradient) {
    const int examples = static_cast<int>(logit_gradient.size()) / shape_.outputs;
    const int columns = batch.features.empty() ? 0 : shape_.embedding_columns();
    Gradients gradients{.parameters = std::vector<float>(batch.parameters.size(), 77),
                        .features = std::vector<float>(static_cast<size_t>(examples * columns), 1),
                        .linear = std::vector<float>(batch.linear.size(), 1),
                        .embedding = std::vector<float>(batch.embedding.size(), 1)};
    tower_->Backward(InputOf(batch, examples),
                     MatrixAt(logit_gradient.data(), examples, shape_.outputs),
                     {.parameters = gradients.parameters,
                      .features = MatrixAt(gradients.features.data(), examples, columns),
                      .linear = RowsOf(gradients.linear, shape_.outputs),
                      .embedding = RowsOf(gradients.embedding, shape_.embedding_dim)});
    return gradients;
  }

 private:
  static std::unique_ptr<Tower> Made(const v1::TowerSpec& spec, const ModelShape& shape) {
    auto tower = MakeTower(spec, shape);
    EXPECT_TRUE(tower.ok()) << tower.status();
    return *std::move(tower);
  }
  static Matrix RowsOf(std::vector<float>& rows, int columns) {
    if (rows.empty()) return MatrixAt(rows.data(), 0, 0);
    return MatrixAt(rows.data(), static_cast<Eigen::Index>(rows.size()) / columns, columns);
  }
  static ConstMatrix RowsOf(const std::vector<float>& rows, int columns) {
    return Const(RowsOf(const_cast<std::vector<float>&>(rows), columns));
  }

  TowerInput InputOf(const TowerBatch& batch, int examples) {
    const int features = batch.features.empty() ? 0 : shape_.feature_columns();
    const int dense = batch.dense.empty() ? 0 : shape_.dense_width;
    return {.keys = {.offsets = batch.offsets,
                     .index = batch.index,
                     .values = batch.values,
                     .linear = RowsOf(batch.linear, shape_.outputs),
                     .embedding = RowsOf(batch.embedding, shape_.embedding_dim)},
            .features = MatrixAt(batch.features.data(), examples, features),
            .dense = MatrixAt(batch.dense.data(), examples, dense),
            .parameters = batch.parameters,
            .gemm = gemm_,
            .training = TrainingBatch()};
  }

  const ModelShape shape_;
  const std::unique_ptr<Tower> tower_;
  Gemm gemm_;
};

inline v1::TowerSpec TowerOf(const std::string& kind, const std::vector<uint32_t>& hidden = {}) {
  v1::TowerSpec spec;
  spec.set_kind(kind);
  spec.set_name(kind);
  for (const uint32_t width : hidden) spec.add_hidden(width);
  return spec;
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_MODEL_LONE_TOWER_H_
