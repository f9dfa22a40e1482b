#include "capstan/model/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "capstan/base/metric_name.h"
#include "capstan/base/status.h"
#include "capstan/model/auc.h"
#include "capstan/model/group_auc.h"

namespace capstan {
namespace {

// Of counts, or of weights.
template <typename Count>
using Histogram = google::protobuf::RepeatedField<Count>;

template <typename Count>
bool IsHistogram(const Histogram<Count>& bins) {
  return bins.empty() || bins.size() == kLogitBins;
}

template <typename Count>
std::span<const Count> Bins(const Histogram<Count>& bins) {
  return {bins.data(), static_cast<size_t>(bins.size())};
}

template <typename Count>
void AddHistogram(const Histogram<Count>& from, Histogram<Count>& into) {
  if (from.empty()) return;
  into.Resize(kLogitBins, 0);
  for (int i = 0; i < kLogitBins; ++i) into[i] += from[i];
}

template <typename Count>
void AddToHistogram(float logit, Count count, Histogram<Count>& bins) {
  if (bins.empty()) bins.Resize(kLogitBins, 0);
  bins[LogitBin(logit)] += count;
}

void AddToHistograms(const Scores& scores, size_t i, bool positive, v1::EvaluationResult& sums) {
  const float logit = scores.logits[i];
  if (scores.weights.empty()) {
    AddToHistogram(logit, uint64_t{1},
                   positive ? *sums.mutable_positives() : *sums.mutable_negatives());
  } else {
    AddToHistogram<double>(
        logit, scores.weights[i],
        positive ? *sums.mutable_positive_weights() : *sums.mutable_negative_weights());
  }
}

void AddCorrect(const Scores& scores, size_t i, v1::EvaluationResult& sums) {
  if (scores.weights.empty()) {
    sums.set_correct(sums.correct() + 1);
  } else {
    sums.set_correct_weight(sums.correct_weight() + scores.weights[i]);
  }
}

void AddLogistic(const Scores& scores, v1::EvaluationResult& sums) {
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const float logit = scores.logits[i];
    const bool positive = scores.labels[i] > 0.5f;
    const double p = Prediction(v1::LOSS_LOGISTIC, logit);
    const double weight = scores.WeightOf(i);
    AddToHistograms(scores, i, positive, sums);
    if ((logit > 0) == positive) AddCorrect(scores, i, sums);
    sums.set_squared_error(sums.squared_error() + weight * (p - positive) * (p - positive));
    sums.set_label_sum(sums.label_sum() + weight * positive);
    sums.set_prediction_sum(sums.prediction_sum() + weight * p);
  }
}

void AddSoftmax(const Scores& scores, v1::EvaluationResult& sums) {
  const size_t classes = static_cast<size_t>(scores.outputs);
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const auto logits = scores.logits.subspan(i * classes, classes);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (best == static_cast<ptrdiff_t>(scores.labels[i])) AddCorrect(scores, i, sums);
  }
}

void AddSquared(const Scores& scores, v1::EvaluationResult& sums) {
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const double error = static_cast<double>(scores.logits[i]) - scores.labels[i];
    const double weight = scores.WeightOf(i);
    sums.set_squared_error(sums.squared_error() + weight * error * error);
    sums.set_label_sum(sums.label_sum() + weight * scores.labels[i]);
    sums.set_prediction_sum(sums.prediction_sum() + weight * scores.logits[i]);
  }
}

// Nothing: a class is missing.
template <typename Count>
std::optional<double> AucOfHistograms(const Histogram<Count>& positives,
                                      const Histogram<Count>& negatives) {
  if (positives.empty() || negatives.empty()) return std::nullopt;
  const double auc = AucOf(Bins(positives), Bins(negatives)).value;
  return std::isnan(auc) ? std::nullopt : std::optional(auc);
}

}  // namespace

void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums, size_t most_grouped) {
  sums.set_examples(sums.examples() + scores.labels.size());
  sums.set_loss_sum(sums.loss_sum() + LossSum(scores));
  if (!scores.weights.empty()) {
    sums.set_weighted(true);
    const double weight = std::accumulate(scores.weights.begin(), scores.weights.end(), 0.0);
    sums.set_weight(sums.weight() + weight);
  }
  if (scores.loss == v1::LOSS_SOFTMAX) return AddSoftmax(scores, sums);
  if (scores.loss == v1::LOSS_SQUARED) return AddSquared(scores, sums);
  AddLogistic(scores, sums);
  if (!scores.groups.empty()) AddToGroups(scores, *sums.mutable_groups(), most_grouped);
}

absl::Status MergeEvaluation(const v1::EvaluationResult& from, v1::EvaluationResult& into) {
  if (!IsHistogram(from.positives()) || !IsHistogram(from.negatives()) ||
      !IsHistogram(from.positive_weights()) || !IsHistogram(from.negative_weights())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation: histograms of ", from.positives_size() + from.positive_weights_size(), " and ",
        from.negatives_size() + from.negative_weights_size(), " bins, not ", kLogitBins));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckGroups(from.groups()));
  into.set_examples(into.examples() + from.examples());
  into.set_loss_sum(into.loss_sum() + from.loss_sum());
  into.set_correct(into.correct() + from.correct());
  into.set_squared_error(into.squared_error() + from.squared_error());
  into.set_label_sum(into.label_sum() + from.label_sum());
  into.set_prediction_sum(into.prediction_sum() + from.prediction_sum());
  AddHistogram(from.positives(), *into.mutable_positives());
  AddHistogram(from.negatives(), *into.mutable_negatives());
  into.set_weighted(into.weighted() || from.weighted());
  into.set_weight(into.weight() + from.weight());
  into.set_correct_weight(into.correct_weight() + from.correct_weight());
  AddHistogram(from.positive_weights(), *into.mutable_positive_weights());
  AddHistogram(from.negative_weights(), *into.mutable_negative_weights());
  if (from.has_groups()) MergeGroups(from.groups(), *into.mutable_groups());
  return absl::OkStatus();
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
  const bool weighted = sums.weighted();
  const double weight = weighted ? sums.weight() : static_cast<double>(sums.examples());
  if (weight == 0) return {};
  const double mean_loss = sums.loss_sum() / weight;
  if (loss == v1::LOSS_SQUARED) {
    const double rmse = std::sqrt(sums.squared_error() / weight) * label_unit;
    return {{"loss", mean_loss}, {"rmse", rmse}};
  }
  const double correct = weighted ? sums.correct_weight() : static_cast<double>(sums.correct());
  const double accuracy = correct / weight;
  std::map<std::string, double> metrics = {
      {"loss", mean_loss}, {"logloss", mean_loss}, {"accuracy", accuracy}};
  if (loss == v1::LOSS_SOFTMAX) return metrics;
  const std::optional<double> auc =
      weighted ? AucOfHistograms(sums.positive_weights(), sums.negative_weights())
               : AucOfHistograms(sums.positives(), sums.negatives());
  if (auc) metrics["auc"] = *auc;
  if (const std::optional<double> group_auc = GroupAuc(sums.groups())) {
    metrics["group_auc"] = *group_auc;
    metrics["group_share"] = ShareOfGroups(sums.groups());
  }
  if (sums.label_sum() > 0) metrics["calibration"] = sums.prediction_sum() / sums.label_sum();
  return metrics;
}

std::map<std::string_view, std::map<std::string_view, double>> MetricsBySet(
    const v1::Evaluation& evaluation) {
  std::map<std::string_view, std::map<std::string_view, double>> sets;
  sets.try_emplace("");
  for (const auto& [text, value] : evaluation.metrics()) {
    const MetricName name = ParseMetricName(text);
    sets[name.set][name.metric] = value;
  }
  return sets;
}

bool MoreIsBetter(std::string_view name) {
  const std::string_view metric = ParseMetricName(name).metric;
  return metric == "auc" || metric == "group_auc" || metric == "accuracy";
}

}  // namespace capstan
