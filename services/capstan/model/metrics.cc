#include "capstan/model/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/metric_name.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/model/auc.h"
#include "capstan/model/group_auc.h"

namespace capstan {
namespace {

// The sums are of counts, or of weights.
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
    sums.set_absolute_error(sums.absolute_error() + weight * std::abs(error));
    sums.set_label_sum(sums.label_sum() + weight * scores.labels[i]);
    sums.set_prediction_sum(sums.prediction_sum() + weight * scores.logits[i]);
  }
}

// Returns the AUC; nullopt if a class is missing.
template <typename Count>
std::optional<double> AucOfHistograms(const Histogram<Count>& positives,
                                      const Histogram<Count>& negatives) {
  if (positives.empty() || negatives.empty()) return std::nullopt;
  const double auc = AucOf(Bins(positives), Bins(negatives)).value;
  return std::isnan(auc) ? std::nullopt : std::optional(auc);
}

// The scores of one of several labels, for the examples that have this label.
class ScoresOfLabel {
 public:
  ScoresOfLabel(const Scores& scores, size_t label) {
    const auto outputs = static_cast<size_t>(scores.outputs);
    for (size_t i = 0; i < scores.examples(); ++i) {
      const float should_be = scores.labels[i * outputs + label];
      if (std::isnan(should_be)) continue;
      logits_.push_back(scores.logits[i * outputs + label]);
      labels_.push_back(should_be);
      if (!scores.weights.empty()) weights_.push_back(scores.weights[i]);
      if (!scores.groups.empty()) groups_.push_back(scores.groups[i]);
    }
    scores_ = {.loss = scores.LossOf(label),
               .logits = logits_,
               .labels = labels_,
               .weights = weights_,
               .groups = groups_};
  }
  ScoresOfLabel(const ScoresOfLabel&) = delete;
  ScoresOfLabel& operator=(const ScoresOfLabel&) = delete;

  const Scores& scores() const { return scores_; }

 private:
  std::vector<float> logits_, labels_, weights_;
  std::vector<uint64_t> groups_;
  Scores scores_;
};

bool HasSeveralLabels(const Scores& scores) {
  return scores.outputs > 1 && scores.loss != v1::LOSS_SOFTMAX;
}

void AddWeight(const Scores& scores, v1::EvaluationResult& sums) {
  if (scores.weights.empty()) return;
  sums.set_weighted(true);
  const double weight = std::accumulate(scores.weights.begin(), scores.weights.end(), 0.0);
  sums.set_weight(sums.weight() + weight);
}

// Returns the share of the examples that have the label, by weight. Returns 1 if the weights are
// not known: a worker of an earlier version reports none for all examples, but it does not support
// labels that may be missing either.
double ShareOf(const v1::EvaluationResult& label, const v1::EvaluationResult& all) {
  if (label.weighted() != all.weighted() || label.weight() > all.weight()) return 1;
  return all.weighted()
             ? label.weight() / all.weight()
             : static_cast<double>(label.examples()) / static_cast<double>(all.examples());
}

void AddToEvaluationOfLabels(const Scores& scores, v1::EvaluationResult& sums,
                             size_t most_grouped) {
  sums.set_examples(sums.examples() + scores.examples());
  AddWeight(scores, sums);
  while (sums.labels_size() < scores.outputs) sums.add_labels();
  for (int i = 0; i < scores.outputs; ++i) {
    const ScoresOfLabel of_label(scores, static_cast<size_t>(i));
    AddToEvaluation(of_label.scores(), *sums.mutable_labels(i),
                    most_grouped / static_cast<size_t>(scores.outputs));
  }
}

absl::Status CheckHistograms(const v1::EvaluationResult& sums) {
  if (IsHistogram(sums.positives()) && IsHistogram(sums.negatives()) &&
      IsHistogram(sums.positive_weights()) && IsHistogram(sums.negative_weights())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "evaluation: histograms of ", sums.positives_size() + sums.positive_weights_size(), " and ",
      sums.negatives_size() + sums.negative_weights_size(), " bins, not ", kLogitBins));
}

// Checks that `from` has as many labels as `into`. A worker that has evaluated nothing may not know
// the number of labels.
absl::Status CheckLabels(const v1::EvaluationResult& from, const v1::EvaluationResult& into) {
  const bool of_nothing = from.examples() == 0 && from.labels().empty();
  if (!of_nothing && from.labels_size() != into.labels_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation: of ", from.labels_size(), " labels, not ", into.labels_size()));
  }
  for (const v1::EvaluationResult& label : from.labels()) {
    if (!label.labels().empty()) {
      return absl::InvalidArgumentError("evaluation: a label has labels");
    }
    CAPSTAN_RETURN_IF_ERROR(CheckHistograms(label));
    CAPSTAN_RETURN_IF_ERROR(CheckGroups(label.groups()));
  }
  return absl::OkStatus();
}

// Returns the absolute errors, or NaN if a worker of an earlier version has reported none for a
// squared loss. (A logistic loss has histograms beside its squared errors.)
double AbsoluteErrorOf(const v1::EvaluationResult& sums) {
  const bool logistic = !sums.positives().empty() || !sums.negatives().empty() ||
                        !sums.positive_weights().empty() || !sums.negative_weights().empty();
  if (logistic || sums.absolute_error() != 0 || sums.squared_error() == 0) {
    return sums.absolute_error();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::map<std::string, double> MetricsOfSquared(const v1::EvaluationResult& sums, double weight,
                                               double label_unit) {
  std::map<std::string, double> metrics = {
      {"loss", sums.loss_sum() / weight},
      {"rmse", std::sqrt(sums.squared_error() / weight) * label_unit}};
  const double absolute_error = AbsoluteErrorOf(sums);
  if (!std::isnan(absolute_error)) metrics["mae"] = absolute_error / weight * label_unit;
  return metrics;
}

void Merge(const v1::EvaluationResult& from, v1::EvaluationResult& into, size_t most_grouped) {
  into.set_absolute_error(AbsoluteErrorOf(into) + AbsoluteErrorOf(from));
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
  if (from.has_groups()) MergeGroups(from.groups(), *into.mutable_groups(), most_grouped);
}

}  // namespace

v1::EvaluationResult NoEvaluation(const v1::DataSpec& data) {
  v1::EvaluationResult sums;
  for (int i = 0; i < data.labels_size(); ++i) sums.add_labels();
  return sums;
}

void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums, size_t most_grouped) {
  if (HasSeveralLabels(scores)) return AddToEvaluationOfLabels(scores, sums, most_grouped);
  sums.set_examples(sums.examples() + scores.examples());
  sums.set_loss_sum(sums.loss_sum() + LossSum(scores));
  AddWeight(scores, sums);
  if (scores.loss == v1::LOSS_SOFTMAX) return AddSoftmax(scores, sums);
  if (scores.loss == v1::LOSS_SQUARED) return AddSquared(scores, sums);
  AddLogistic(scores, sums);
  if (!scores.groups.empty()) AddToGroups(scores, *sums.mutable_groups(), most_grouped);
}

absl::Status MergeEvaluation(const v1::EvaluationResult& from, v1::EvaluationResult& into) {
  CAPSTAN_RETURN_IF_ERROR(CheckHistograms(from));
  CAPSTAN_RETURN_IF_ERROR(CheckGroups(from.groups()));
  CAPSTAN_RETURN_IF_ERROR(CheckLabels(from, into));
  Merge(from, into, kMostGroupedExamples);
  for (int i = 0; i < from.labels_size(); ++i) {
    Merge(from.labels(i), *into.mutable_labels(i),
          kMostGroupedExamples / static_cast<size_t>(from.labels_size()));
  }
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
  if (loss == v1::LOSS_SQUARED) return MetricsOfSquared(sums, weight, label_unit);
  const double mean_loss = sums.loss_sum() / weight;
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

std::map<std::string, double> MetricsOf(const v1::JobSpec& job, const v1::EvaluationResult& sums) {
  if (sums.labels().empty()) return MetricsOf(job.model().loss(), sums, LabelUnit(job.data()));
  std::map<std::string, double> metrics;
  double total = 0;
  for (int i = 0; i < std::min(sums.labels_size(), job.data().labels_size()); ++i) {
    const v1::LabelSpec& label = job.data().labels(i);
    const std::string scope = i == 0 ? "" : label.name();
    for (const auto& [metric, value] :
         MetricsOf(LossOf(label, job.model().loss()), sums.labels(i))) {
      metrics[NameMetric({scope, metric})] = value;
      if (metric == "loss") total += label.weight() * value * ShareOf(sums.labels(i), sums);
    }
  }
  if (!metrics.empty()) metrics["loss"] = total;
  return metrics;
}

std::map<std::string_view, std::map<std::string_view, double>> MetricsByScope(
    const v1::Evaluation& evaluation) {
  std::map<std::string_view, std::map<std::string_view, double>> scopes;
  scopes.try_emplace("");
  for (const auto& [text, value] : evaluation.metrics()) {
    const MetricName name = ParseMetricName(text);
    scopes[name.scope][name.metric] = value;
  }
  return scopes;
}

bool MoreIsBetter(std::string_view name) {
  const std::string_view metric = ParseMetricName(name).metric;
  return metric == "auc" || metric == "group_auc" || metric == "accuracy";
}

}  // namespace capstan
