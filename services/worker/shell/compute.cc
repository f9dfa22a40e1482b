#include "worker/shell/compute.h"

#include <span>

#include "worker/shell/step_gradients.h"

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

}  // namespace

void ComputeGradients(Network& network, double clip_norm, Step& step) {
  const NetworkGradients result = network.ForwardBackward(InputOf(step));
  StepGradients gradients(step);
  gradients.TakeRows(result.rows);
  gradients.Take(result.parameters);
  gradients.Finish(result.loss_sum, clip_norm);
}

void ComputeLogits(Network& network, Step& step) {
  const std::span<const float> logits = network.Forward(InputOf(step));
  step.logits.assign(logits.begin(), logits.end());
}

}  // namespace capstan::worker
