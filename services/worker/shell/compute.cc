#include "worker/shell/compute.h"

#include <span>

#include "capstan/base/hash.h"
#include "worker/shell/step_gradients.h"

namespace capstan::worker {
namespace {

NetworkInput InputOf(const Step& step) {
  return {.labels = step.batch->labels,
          .weights = step.batch->weights,
          .offsets = step.batch->offsets,
          .index = step.tables[0].keys.index,
          .values = step.batch->values,
          .dense = step.batch->dense,
          .rows = step.tables[0].rows,
          .parameters = step.parameters,
          .draw = Draw(step.stream.value, step.seq, 0)};
}

}  // namespace

void ComputeGradients(Network& network, double clip_norm, Step& step) {
  const NetworkGradients result = network.ForwardBackward(InputOf(step));
  StepGradients gradients(step);
  gradients.TakeRows(0, result.rows);
  gradients.Take(result.parameters);
  gradients.Finish(result.loss_sum, clip_norm);
}

void ComputeLogits(Network& network, Step& step) {
  const std::span<const float> logits = network.Forward(InputOf(step));
  step.logits.assign(logits.begin(), logits.end());
}

}  // namespace capstan::worker
