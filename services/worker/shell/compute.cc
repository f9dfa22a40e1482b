#include "worker/shell/compute.h"

#include <cstddef>
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
  const NetworkGradients result = network.ForwardBackward(InputOf(step));
  StepGradients gradients(step);
  gradients.TakeRows(0, result.rows);
  TakeParameters(result, gradients);
  gradients.Finish(result.loss_sum, clip_norm);
}

void ComputeLogits(Network& network, Step& step) {
  const std::span<const float> logits = network.Forward(InputOf(step));
  step.logits.assign(logits.begin(), logits.end());
}

}  // namespace capstan::worker
