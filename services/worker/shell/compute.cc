#include "worker/shell/compute.h"

#include <array>
#include <cmath>
#include <span>

namespace capstan::worker {
namespace {

NetworkInput InputOf(const Step& step) {
  return {.labels = step.batch->labels,
          .offsets = step.batch->offsets,
          .index = step.keys.index,
          .values = step.batch->values,
          .dense = step.batch->dense,
          .rows = step.rows,
          .parameters = step.parameters};
}

// Copies, and returns the sum of the squares. It is finite exactly when every element is: the
// square of a float never overflows a double. The order of the additions is fixed.
double CopyAndSquare(std::span<const float> from, std::vector<float>& to) {
  constexpr size_t kLanes = 8;
  to.resize(from.size());
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= from.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = from[i + lane];
      to[i + lane] = value;
      sums[lane] += static_cast<double>(value) * value;
    }
  }
  double sum = 0;
  for (; i < from.size(); ++i) {
    to[i] = from[i];
    sum += static_cast<double>(from[i]) * from[i];
  }
  for (double lane : sums) sum += lane;
  return sum;
}

void Scale(float factor, std::vector<float>& values) {
  for (float& value : values) value *= factor;
}

}  // namespace

void ComputeGradients(Network& network, double clip_norm, Step& step) {
  const NetworkGradients result = network.ForwardBackward(InputOf(step));
  const double squares = CopyAndSquare(result.rows, step.row_gradients) +
                         CopyAndSquare(result.parameters, step.parameter_gradients);
  step.loss_sum = result.loss_sum;
  step.gradient_norm = std::sqrt(squares);
  step.nonfinite = !std::isfinite(squares) || !std::isfinite(result.loss_sum);
  step.clipped = clip_norm > 0 && step.gradient_norm > clip_norm && !step.nonfinite;
  if (step.clipped) {
    const auto factor = static_cast<float>(clip_norm / step.gradient_norm);
    Scale(factor, step.row_gradients);
    Scale(factor, step.parameter_gradients);
  }
}

void ComputeLogits(Network& network, Step& step) {
  const std::span<const float> logits = network.Forward(InputOf(step));
  step.logits.assign(logits.begin(), logits.end());
}

}  // namespace capstan::worker
