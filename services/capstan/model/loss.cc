#include "capstan/model/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "capstan/base/check.h"

namespace capstan {
namespace {

// log(1 + exp(x)) without overflow.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double Sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x >= 0 ? 1.0 : e) / (1.0 + e);
}

// Returns true if the example lacks this label, so that its output has no loss.
bool Skip(const Scores& s, size_t output, std::span<float> gradient) {
  if (!std::isnan(s.labels[output])) return false;
  if (!gradient.empty()) gradient[output] = 0;
  return true;
}

// Returns the loss of one output that has a label, and its derivative by the logit.
double LossOfOutput(v1::Loss loss, double logit, float label) {
  const double error = logit - label;
  return loss == v1::LOSS_SQUARED ? 0.5 * error * error : Softplus(logit) - label * logit;
}

double SlopeOfOutput(v1::Loss loss, double logit, float label) {
  return (loss == v1::LOSS_SQUARED ? logit : Sigmoid(logit)) - label;
}

double SumOfOutputs(const Scores& s, float scale, std::span<float> gradient) {
  const size_t outputs = static_cast<size_t>(s.outputs);
  double sum = 0;
  for (size_t i = 0; i < s.labels.size(); ++i) {
    if (Skip(s, i, gradient)) continue;
    const v1::Loss loss = s.LossOf(i % outputs);
    const float weight = s.WeightOf(i / outputs, i % outputs);
    sum += weight * LossOfOutput(loss, s.logits[i], s.labels[i]);
    if (gradient.empty()) continue;
    gradient[i] =
        static_cast<float>(SlopeOfOutput(loss, s.logits[i], s.labels[i])) * (scale * weight);
  }
  return sum;
}

double Softmax(const Scores& s, float scale, std::span<float> gradient) {
  double sum = 0;
  const size_t classes = static_cast<size_t>(s.outputs);
  for (size_t i = 0; i < s.labels.size(); ++i) {
    const std::span<const float> logits = s.logits.subspan(i * classes, classes);
    const size_t label = static_cast<size_t>(s.labels[i]);
    const double top = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (float logit : logits) total += std::exp(logit - top);
    const float weight = s.WeightOf(i);
    sum += weight * (std::log(total) + top - logits[label]);
    if (gradient.empty()) continue;
    for (size_t c = 0; c < classes; ++c) {
      const double p = std::exp(logits[c] - top) / total;
      gradient[i * classes + c] =
          static_cast<float>(p - (c == label ? 1.0 : 0.0)) * (scale * weight);
    }
  }
  return sum;
}

double Compute(const Scores& s, float scale, std::span<float> gradient) {
  const size_t outputs = static_cast<size_t>(s.outputs);
  const bool softmax = s.loss == v1::LOSS_SOFTMAX;
  CAPSTAN_CHECK(s.logits.size() == s.labels.size() * (softmax ? outputs : 1));
  CAPSTAN_CHECK(s.weights.empty() || s.weights.size() == s.examples());
  CAPSTAN_CHECK(s.label_weights.empty() || s.label_weights.size() == outputs);
  CAPSTAN_CHECK(s.label_losses.empty() || s.label_losses.size() == outputs);
  return softmax ? Softmax(s, scale, gradient) : SumOfOutputs(s, scale, gradient);
}

}  // namespace

double LossSum(const Scores& scores) { return Compute(scores, 1.0f, {}); }

double LossSumAndGradient(const Scores& scores, float scale, std::span<float> gradient) {
  CAPSTAN_CHECK(gradient.size() == scores.logits.size());
  return Compute(scores, scale, gradient);
}

float Prediction(v1::Loss loss, float logit) {
  return loss == v1::LOSS_LOGISTIC ? static_cast<float>(Sigmoid(logit)) : logit;
}

}  // namespace capstan
