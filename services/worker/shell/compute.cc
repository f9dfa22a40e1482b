#include "worker/shell/compute.h"

#include <cstddef>
#include <span>
#include <vector>

#include "capstan/base/hash.h"
#include "worker/shell/step_gradients.h"

namespace capstan::worker {
namespace {

// What NetworkInput borrows of a step that has data.features; empty of one that has not.
struct FeatureViews {
  explicit FeatureViews(const Step& step) {
    for (size_t i = 0; i < step.feature_begin.size(); ++i) {
      const Bags& bags = step.batch->features[i];
      keys.push_back(
          {.offsets = bags.offsets, .begin = step.feature_begin[i], .weights = bags.weights});
    }
    for (const StepTable& table : step.tables) {
      tables.push_back({.index = table.keys.index, .rows = table.rows});
    }
  }

  std::vector<FeatureKeys> keys;
  std::vector<TableRows> tables;
};

NetworkInput InputOf(const Step& step, const FeatureViews& features) {
  return {.labels = step.batch->labels,
          .weights = step.batch->weights,
          .offsets = step.batch->offsets,
          .index = step.tables[0].keys.index,
          .values = step.batch->values,
          .dense = step.batch->dense,
          .rows = step.tables[0].rows,
          .parameters = step.parameters,
          .draw = Draw(step.stream.value, step.seq, 0),
          .features = features.keys,
          .tables = features.tables};
}

void TakeRows(std::span<const float> rows, const Step& step, StepGradients& gradients) {
  size_t taken = 0;
  for (size_t i = 0; i < step.tables.size(); ++i) {
    const size_t floats = step.tables[i].rows.size();
    gradients.TakeRows(i, rows.subspan(taken, floats));
    taken += floats;
  }
}

void TakeParameters(const NetworkGradients& result, StepGradients& gradients) {
  size_t taken = 0;
  for (const auto& [begin, count] : result.running) {
    gradients.Take(result.parameters.subspan(taken, begin - taken));
    gradients.TakeDifference(result.parameters.subspan(begin, count));
    taken = begin + count;
  }
  gradients.Take(result.parameters.subspan(taken));
}

}  // namespace

void ComputeGradients(Network& network, double clip_norm, Step& step) {
  const FeatureViews features(step);
  const NetworkGradients result = network.ForwardBackward(InputOf(step, features));
  StepGradients gradients(step);
  TakeRows(result.rows, step, gradients);
  TakeParameters(result, gradients);
  gradients.Finish(result.loss_sum, clip_norm);
}

void ComputeLogits(Network& network, Step& step) {
  const FeatureViews features(step);
  const std::span<const float> logits = network.Forward(InputOf(step, features));
  step.logits.assign(logits.begin(), logits.end());
}

}  // namespace capstan::worker
