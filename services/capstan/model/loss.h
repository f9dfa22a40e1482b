// The losses and their gradients. All functions: thread-safe, allocate nothing, and give the same
// bits for the same input wherever it lies in memory.
#ifndef CAPSTAN_MODEL_LOSS_H_
#define CAPSTAN_MODEL_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "capstan/v1/job.pb.h"

namespace capstan {

// The scores of a batch with its labels. `logits` holds `outputs` floats for each example. Labels
// are 0 or 1 for the logistic loss and any number for the squared loss, one for each output of each
// example; for softmax the class's number, one for each example. A label that an example lacks is
// NaN. The loss of an example is the sum of the losses of the outputs whose labels it has, each
// multiplied by the weight of its label, and the sum by the weight of the example.
struct Scores {
  v1::Loss loss = v1::LOSS_UNSPECIFIED;
  int outputs = 1;
  std::span<const float> logits;
  std::span<const float> labels;
  std::span<const float> weights = {};  // One for each example; empty: all are 1.
  std::span<const uint64_t> groups =
      {};  // The hash of each example's group; empty: the examples have no groups.

  std::span<const float> label_weights = {};    // One for each output; empty: all are 1.
  std::span<const v1::Loss> label_losses = {};  // One for each output; empty: all have `loss`.

  v1::Loss LossOf(size_t output) const {
    return label_losses.empty() ? loss : label_losses[output];
  }
  float WeightOf(size_t example) const { return weights.empty() ? 1.0f : weights[example]; }
  // The weight of one output of an example.
  float WeightOf(size_t example, size_t output) const {
    return label_weights.empty() ? WeightOf(example) : WeightOf(example) * label_weights[output];
  }
  size_t examples() const { return logits.size() / static_cast<size_t>(outputs); }
};

// Returns the sum of the examples' losses: for logistic and softmax the negative log-likelihood,
// for squared half the squared error. NaN and infinity pass through to the sum. REQUIRES: spans
// have the sizes that Scores says; labels are in the loss's domain; weights are finite and not
// negative.
double LossSum(const Scores& scores);

// As LossSum; also writes the gradient of `scale` times the sum to `gradient`, which is as long as
// `logits` (scale 1 / examples: the gradient of the mean).
double LossSumAndGradient(const Scores& scores, float scale, std::span<float> gradient);

// Returns the prediction for an output: a probability for the logistic loss, otherwise the logit.
float Prediction(v1::Loss loss, float logit);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_LOSS_H_
