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

// One batch, drawn from `seed`, that owns what NetworkInput borrows.
struct RandomBatch {
  RandomBatch(const v1::JobSpec& spec, int examples, uint64_t seed) : seed(seed) {
    const ModelShape shape = ShapeOf(spec);
    constexpr int kDistinct = 7;
    offsets.push_back(0);
    for (int i = 0; i < examples; ++i) {
      const int varying = shape.has_keys ? static_cast<int>(Draw(seed, 1, i) % 5) : 0;
      const int keys = shape.fields > 0 ? shape.fields : varying;
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
    rows = Floats(6, spec.tables().empty() ? 0 : kDistinct * spec.tables(0).dim());
    parameters = Floats(7, static_cast<size_t>(DenseParameterCount(spec)));
    for (float& parameter : parameters) parameter *= 0.4f;  // Keeps deep logits near 1.
  }

  NetworkInput Weighted() const {
    NetworkInput input = Input();
    input.weights = weights;
    return input;
  }

  NetworkInput Input() const {
    return {.labels = labels,
            .offsets = offsets,
            .index = index,
            .values = values,
            .dense = dense,
            .rows = rows,
            .parameters = parameters};
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
