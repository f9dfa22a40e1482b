#include "capstan/model/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"

namespace capstan {
namespace {

using Histogram = google::protobuf::RepeatedField<uint64_t>;

bool IsHistogram(const Histogram& bins) { return bins.empty() || bins.size() == kLogitBins; }

std::span<const uint64_t> Bins(const Histogram& bins) {
  return {bins.data(), static_cast<size_t>(bins.size())};
}

void AddHistogram(const Histogram& from, Histogram& into) {
  if (from.empty()) return;
  into.Resize(kLogitBins, 0);
  for (int i = 0; i < kLogitBins; ++i) into[i] += from[i];
}

void AddLogistic(const Scores& scores, v1::EvaluationResult& sums) {
  sums.mutable_positives()->Resize(kLogitBins, 0);
  sums.mutable_negatives()->Resize(kLogitBins, 0);
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const float logit = scores.logits[i];
    const bool positive = scores.labels[i] > 0.5f;
    const double p = Prediction(v1::LOSS_LOGISTIC, logit);
    Histogram& bins = positive ? *sums.mutable_positives() : *sums.mutable_negatives();
    ++bins[LogitBin(logit)];
    if ((logit > 0) == positive) sums.set_correct(sums.correct() + 1);
    sums.set_squared_error(sums.squared_error() + (p - positive) * (p - positive));
    sums.set_label_sum(sums.label_sum() + positive);
    sums.set_prediction_sum(sums.prediction_sum() + p);
  }
}

void AddSoftmax(const Scores& scores, v1::EvaluationResult& sums) {
  const size_t classes = static_cast<size_t>(scores.outputs);
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const auto logits = scores.logits.subspan(i * classes, classes);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (best == static_cast<ptrdiff_t>(scores.labels[i])) sums.set_correct(sums.correct() + 1);
  }
}

void AddSquared(const Scores& scores, v1::EvaluationResult& sums) {
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const double error = static_cast<double>(scores.logits[i]) - scores.labels[i];
    sums.set_squared_error(sums.squared_error() + error * error);
    sums.set_label_sum(sums.label_sum() + scores.labels[i]);
    sums.set_prediction_sum(sums.prediction_sum() + scores.logits[i]);
  }
}

}  // namespace

int LogitBin(float logit) {
  constexpr int kBinsASign = kLogitBins / 2;
  constexpr int kBitsABin = 23 - 8;  // 256 bins an octave of 1 + |logit|.
  if (std::isnan(logit)) return 0;
  // Positive floats are ordered as their bits are, which count 2^23 steps an octave.
  const uint32_t bits = std::bit_cast<uint32_t>(1.0f + std::abs(logit));
  const int distance =
      std::min<int>((bits - std::bit_cast<uint32_t>(1.0f)) >> kBitsABin, kBinsASign - 1);
  return std::signbit(logit) ? kBinsASign - 1 - distance : kBinsASign + distance;
}

void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums) {
  sums.set_examples(sums.examples() + scores.labels.size());
  sums.set_loss_sum(sums.loss_sum() + LossSum(scores));
  if (scores.loss == v1::LOSS_SOFTMAX) return AddSoftmax(scores, sums);
  if (scores.loss == v1::LOSS_SQUARED) return AddSquared(scores, sums);
  AddLogistic(scores, sums);
}

absl::Status MergeEvaluation(const v1::EvaluationResult& from, v1::EvaluationResult& into) {
  if (!IsHistogram(from.positives()) || !IsHistogram(from.negatives())) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation: histograms of ", from.positives_size(), " and ",
                     from.negatives_size(), " bins, not ", kLogitBins));
  }
  into.set_examples(into.examples() + from.examples());
  into.set_loss_sum(into.loss_sum() + from.loss_sum());
  into.set_correct(into.correct() + from.correct());
  into.set_squared_error(into.squared_error() + from.squared_error());
  into.set_label_sum(into.label_sum() + from.label_sum());
  into.set_prediction_sum(into.prediction_sum() + from.prediction_sum());
  AddHistogram(from.positives(), *into.mutable_positives());
  AddHistogram(from.negatives(), *into.mutable_negatives());
  return absl::OkStatus();
}

Auc AucOf(std::span<const uint64_t> positives, std::span<const uint64_t> negatives) {
  CAPSTAN_CHECK(positives.size() == kLogitBins && negatives.size() == kLogitBins);
  double wins = 0, ties = 0, below = 0, total = 0;  // `below`: negatives in lower bins.
  for (int i = 0; i < kLogitBins; ++i) {
    const double p = static_cast<double>(positives[i]);
    const double n = static_cast<double>(negatives[i]);
    wins += p * below;
    ties += p * n;
    below += n;
    total += p;
  }
  const double pairs = total * below;
  if (pairs == 0) return {.value = std::numeric_limits<double>::quiet_NaN()};
  return {.value = (wins + 0.5 * ties) / pairs, .error = 0.5 * ties / pairs};
}

double LabelUnit(const v1::DataSpec& data) {
  return data.standardize_label() && data.label_deviation() > 0 ? data.label_deviation() : 1;
}

double InLabelUnit(const v1::DataSpec& data, double output) {
  const double mean = data.standardize_label() ? data.label_mean() : 0;
  return mean + output * LabelUnit(data);
}

std::map<std::string, double> MetricsOf(v1::Loss loss, const v1::EvaluationResult& sums,
                                        double label_unit) {
  if (sums.examples() == 0) return {};
  const double examples = static_cast<double>(sums.examples());
  const double mean_loss = sums.loss_sum() / examples;
  if (loss == v1::LOSS_SQUARED) {
    const double rmse = std::sqrt(sums.squared_error() / examples) * label_unit;
    return {{"loss", mean_loss}, {"rmse", rmse}};
  }
  const double accuracy = static_cast<double>(sums.correct()) / examples;
  std::map<std::string, double> metrics = {
      {"loss", mean_loss}, {"logloss", mean_loss}, {"accuracy", accuracy}};
  if (loss == v1::LOSS_SOFTMAX) return metrics;
  if (sums.positives_size() == kLogitBins && sums.negatives_size() == kLogitBins) {
    const double auc = AucOf(Bins(sums.positives()), Bins(sums.negatives())).value;
    if (!std::isnan(auc)) metrics["auc"] = auc;
  }
  if (sums.label_sum() > 0) metrics["calibration"] = sums.prediction_sum() / sums.label_sum();
  return metrics;
}

bool MoreIsBetter(std::string_view metric) { return metric == "auc" || metric == "accuracy"; }

}  // namespace capstan
