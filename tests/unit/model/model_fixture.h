// Small models with random parameters and data, for the tests of this folder.
#ifndef CAPSTAN_TESTS_UNIT_MODEL_MODEL_FIXTURE_H_
#define CAPSTAN_TESTS_UNIT_MODEL_MODEL_FIXTURE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/model/layout.h"
#include "capstan/model/network.h"
#include "gtest/gtest.h"

namespace capstan {

// Data of the shape that most towers take: `fields` keys and `dense` numbers a record.
inline v1::JobSpec SpecOf(const std::string& preset, uint32_t fields, uint32_t dense) {
  v1::JobSpec spec;
  spec.set_seed(1);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  spec.mutable_data()->set_fields(fields);
  spec.mutable_data()->set_dense_width(dense);
  spec.mutable_model()->set_preset(preset);
  spec.mutable_model()->set_embedding_dim(3);
  spec.mutable_model()->add_hidden(5);
  spec.mutable_model()->add_hidden(4);
  return spec;
}

// Four features in two tables, whose embeddings have these lengths: user, item, and two bags of
// items: `seen`, whose mean counts by weights, and `tags`, a sum.
inline v1::JobSpec SpecOfFeatures(const std::string& preset, uint32_t dense, uint32_t of_user,
                                  uint32_t of_item) {
  v1::JobSpec spec = SpecOf(preset, 0, dense);
  for (const char* name : {"user", "item", "seen", "tags"}) {
    v1::FeatureSpec& feature = *spec.mutable_data()->add_features();
    feature.set_name(name);
    feature.set_table(name[0] == 'u' ? "user" : "item");
    feature.set_pooling(v1::POOLING_SUM);
    feature.set_many(name[0] == 's' || name[0] == 't');
  }
  spec.mutable_data()->mutable_features(2)->set_pooling(v1::POOLING_MEAN);
  spec.mutable_data()->mutable_features(2)->mutable_weights();
  for (const auto& [name, dim] : {std::pair("user", of_user), std::pair("item", of_item)}) {
    v1::TableSettings& table = *spec.add_table_settings();
    table.set_name(name);
    table.set_dim(dim);
  }
  return spec;
}

// One batch, drawn from `seed`, that owns what NetworkInput borrows.
struct RandomBatch {
  RandomBatch(const v1::JobSpec& spec, int examples, uint64_t seed) : seed(seed) {
    const ModelShape shape = ShapeOf(spec);
    constexpr int kDistinct = 7;
    offsets.push_back(0);
    for (int i = 0; i < examples; ++i) {
      const int varying = shape.has_keys ? static_cast<int>(Draw(seed, 1, i) % 5) : 0;
      const int fields = shape.fields > 0 ? shape.fields : varying;
      const int keys = shape.pooled.empty() ? fields : 0;  // Features have the keys.
      for (int k = 0; k < keys; ++k) index.push_back(Draw(seed, 2, index.size()) % kDistinct);
      offsets.push_back(static_cast<uint32_t>(index.size()));
      const uint64_t label = Draw(seed, 3, i);
      labels.push_back(spec.model().loss() == v1::LOSS_SQUARED
                           ? static_cast<float>(5 * Unit(label))
                           : static_cast<float>(label % std::max(2, shape.outputs)));
    }
    if (shape.has_keys && shape.fields == 0) values = Floats(4, index.size());
    weights.resize(labels.size());
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(Draw(seed, 8, i) % 4);
    dense = Floats(5, size_t(examples) * shape.dense_width);
    size_t floats = 0;
    for (const v1::TableSpec& table : spec.tables()) floats += size_t{kDistinct} * table.dim();
    rows = Floats(6, floats);
    if (!shape.pooled.empty()) DrawFeatures(spec, examples, kDistinct);
    parameters = Floats(7, static_cast<size_t>(DenseParameterCount(spec)));
    for (float& parameter : parameters) parameter *= 0.4f;  // Keeps deep logits near 1.
  }

  // The keys of data.features, some bags of which are empty.
  void DrawFeatures(const v1::JobSpec& spec, int examples, uint64_t distinct) {
    tables.resize(static_cast<size_t>(spec.tables_size()));
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t].floats = distinct * spec.tables(static_cast<int>(t)).dim();
    }
    const std::vector<size_t> table_of_feature = TablesOfFeatures(spec);
    for (size_t f = 0; f < table_of_feature.size(); ++f) {
      const v1::FeatureSpec& feature = spec.data().features(static_cast<int>(f));
      std::vector<uint32_t>& all = tables[table_of_feature[f]].index;
      Bag& bag = bags.emplace_back(Bag{.begin = all.size(), .offsets = {0}, .weights = {}});
      for (int i = 0; i < examples; ++i) {
        const uint64_t keys = feature.many() ? Draw(seed, 9 + f, i) % 4 : 1;
        for (uint64_t k = 0; k < keys; ++k) all.push_back(Draw(seed, 20, all.size()) % distinct);
        bag.offsets.push_back(static_cast<uint32_t>(all.size() - bag.begin));
      }
      if (!feature.has_weights()) continue;
      bag.weights = Floats(30 + f, bag.offsets.back());
      for (float& weight : bag.weights) weight += 1;
    }
  }

  NetworkInput Weighted() const {
    NetworkInput input = Input();
    input.weights = weights;
    return input;
  }

  NetworkInput Input() const {
    feature_keys.clear();
    for (const Bag& bag : bags) {
      feature_keys.push_back({.offsets = bag.offsets, .begin = bag.begin, .weights = bag.weights});
    }
    table_rows.clear();
    size_t begin = 0;
    for (const TableKeys& table : tables) {
      table_rows.push_back(
          {.index = table.index, .rows = std::span(rows).subspan(begin, table.floats)});
      begin += table.floats;
    }
    return {.labels = labels,
            .offsets = offsets,
            .index = index,
            .values = values,
            .dense = dense,
            .rows = rows,
            .parameters = parameters,
            .features = feature_keys,
            .tables = table_rows};
  }

  // Uniform in [-1, 1).
  std::vector<float> Floats(uint64_t stream, size_t count) const {
    std::vector<float> result(count);
    for (size_t i = 0; i < count; ++i) {
      result[i] = static_cast<float>(2 * Unit(Draw(seed, stream, i)) - 1);
    }
    return result;
  }

  uint64_t seed;
  std::vector<float> labels, weights, values, dense, rows, parameters;
  std::vector<uint32_t> offsets, index;

  // With data.features; `rows` are then those of one table after another.
  struct Bag {
    size_t begin;
    std::vector<uint32_t> offsets;
    std::vector<float> weights;
  };
  struct TableKeys {
    std::vector<uint32_t> index;
    size_t floats;
  };
  std::vector<Bag> bags;
  std::vector<TableKeys> tables;
  mutable std::vector<FeatureKeys> feature_keys;  // What Input borrows.
  mutable std::vector<TableRows> table_rows;
};

inline std::unique_ptr<Network> NetworkOf(v1::JobSpec spec, uint32_t threads = 1) {
  spec.mutable_train()->set_step_threads(threads);
  auto network = Network::Create(spec);
  EXPECT_TRUE(network.ok()) << network.status();
  return *std::move(network);
}

// Of what the network owns until its next call.
inline std::vector<float> Copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Every third gradient of a step's parameters is that of the mean loss of weighted examples, by
// central differences: for models without kinks. `batch` is as it was afterwards.
inline void ExpectGradientsOfWeightedLoss(Network& network, RandomBatch& batch, int examples) {
  constexpr float kStep = 1e-2f;
  const std::vector<float> gradients = Copy(network.ForwardBackward(batch.Weighted()).parameters);
  const auto loss_at = [&](float& parameter, float value) {
    const float before = std::exchange(parameter, value);
    const double loss = network.ForwardBackward(batch.Weighted()).loss_sum / examples;
    parameter = before;
    return loss;
  };
  for (size_t i = 0; i < batch.parameters.size(); i += 3) {
    float& parameter = batch.parameters[i];
    const double rise =
        loss_at(parameter, parameter + kStep) - loss_at(parameter, parameter - kStep);
    EXPECT_NEAR(gradients[i], rise / (2 * kStep), 2e-3) << i;
  }
}

// How many of the gradients of a step's parameters are not those of its mean loss, by central
// differences: with ReLU some lie at a kink. What is not trained is left out. `batch` is as it was
// afterwards.
inline int CountWrongGradients(Network& network, RandomBatch& batch, uint64_t draw,
                               double tolerance) {
  NetworkInput input = batch.Input();
  input.draw = draw;
  const auto loss = [&] {
    return network.ForwardBackward(input).loss_sum / static_cast<double>(batch.labels.size());
  };
  const NetworkGradients result = network.ForwardBackward(input);
  const std::vector<float> gradient = Copy(result.parameters);
  std::vector<bool> trained(gradient.size(), true);
  for (const auto& [begin, count] : result.running) {
    std::fill_n(trained.begin() + static_cast<std::ptrdiff_t>(begin), count, false);
  }
  int wrong = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    if (!trained[i]) continue;
    constexpr float kStep = 0x1p-9f;
    const float at = std::exchange(batch.parameters[i], batch.parameters[i] + kStep);
    const double up = loss();
    batch.parameters[i] = at - kStep;
    const double numeric = (up - loss()) / (2 * kStep);
    batch.parameters[i] = at;
    wrong += std::abs(gradient[i] - numeric) > tolerance * std::max(1.0, std::abs(numeric));
  }
  return wrong;
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_MODEL_MODEL_FIXTURE_H_
