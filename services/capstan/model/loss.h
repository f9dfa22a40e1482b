// The losses and their gradients. All functions are thread-safe, allocate nothing, and give
// bit-equal results for equal input, regardless of its address.
#ifndef CAPSTAN_MODEL_LOSS_H_
#define CAPSTAN_MODEL_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "capstan/v1/job.pb.h"

namespace capstan {

// The scores of a batch with its labels. `logits` has `outputs` floats per example. Labels are 0 or
// 1 for the logistic loss and any number for the squared loss, one for each output of each example;
// for softmax the index of the class, one per example. A label that an example lacks is NaN. The
// loss of an example is the sum of the losses of the outputs whose labels it has, each multiplied
// by the weight of its label, and the sum by the weight of the example.
struct Scores {
  v1::Loss loss = v1::LOSS_UNSPECIFIED;
  int outputs = 1;
  std::span<const float> logits;
  std::span<const float> labels;
  std::span<const float> weights = {};  // One per example; empty if all are 1.
  // The hash of each example's group; empty if the examples have no groups.
  std::span<const uint64_t> groups = {};

  std::span<const float> label_weights = {};    // One per output; empty if all are 1.
  std::span<const v1::Loss> label_losses = {};  // One per output; empty if all have `loss`.

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
// for squared half the squared error. NaN and infinity propagate to the sum. REQUIRES: spans have
// the sizes described at Scores; labels are valid for the loss; weights are finite and not
// negative.
double LossSum(const Scores& scores);

// As LossSum; also writes the gradient of `scale` times the sum to `gradient`, which is as long as
// `logits` (scale 1 / examples: the gradient of the mean).
double LossSumAndGradient(const Scores& scores, float scale, std::span<float> gradient);

// Returns the prediction for an output: a probability for the logistic loss, otherwise the logit.
float Prediction(v1::Loss loss, float logit);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_LOSS_H_
