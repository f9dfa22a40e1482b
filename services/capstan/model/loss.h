// The losses and their gradients. All functions: thread-safe, allocate nothing, and give the same
// bits for the same input wherever it lies in memory.
#ifndef CAPSTAN_MODEL_LOSS_H_
#define CAPSTAN_MODEL_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "capstan/v1/job.pb.h"

namespace capstan {

// A batch's scores and what they should have been. `logits` holds `outputs` floats an example.
// Labels: logistic 0 or 1, squared any number, for each output one; softmax the class's number, one
// an example; one of several labels that an example lacks is not a number. The loss of an example
// is the sum of the losses of the outputs whose labels it has, each multiplied by the weight of its
// label, and all by the weight of the example.
struct Scores {
  v1::Loss loss = v1::LOSS_UNSPECIFIED;
  int outputs = 1;
  std::span<const float> logits;
  std::span<const float> labels;
  std::span<const float> weights = {};  // One an example; empty: all are 1.
  std::span<const uint64_t> groups =
      {};  // The hash of each example's group; empty: there are none.

  std::span<const float> label_weights = {};    // One an output; empty: all are 1.
  std::span<const v1::Loss> label_losses = {};  // One an output; empty: all have `loss`.

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

// Sum over the examples: logistic and softmax, the negative log-likelihood; squared, half the
// squared error. NaN and infinity pass through to the sum. REQUIRES: spans of the sizes that Scores
// says; labels in the loss's domain; weights finite and not negative.
double LossSum(const Scores& scores);

// As LossSum; also writes the gradient of `scale` times the sum to `gradient`, which is as long as
// `logits` (scale 1 / examples: the gradient of the mean).
double LossSumAndGradient(const Scores& scores, float scale, std::span<float> gradient);

// What the model predicts for one example with one output: a probability for logistic, else the
// logit.
float Prediction(v1::Loss loss, float logit);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_LOSS_H_
