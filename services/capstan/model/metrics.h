// Metrics of a model on held-out data, computed from sums (v1::EvaluationResult) that can be merged
// by addition, so that workers evaluate tasks separately and the chief adds their sums.
#ifndef CAPSTAN_MODEL_METRICS_H_
#define CAPSTAN_MODEL_METRICS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/model/group_auc.h"
#include "capstan/model/loss.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the sums of an evaluation of no records.
v1::EvaluationResult NoEvaluation(const v1::DataSpec& data);

// Adds a batch to `sums`; if examples have several labels, to the sums of each label. Histograms
// are only filled for the logistic loss, absolute errors only for the squared one. The weights of
// examples count in all sums: an example of weight 2 is equivalent to two examples. The weights of
// labels do not count. With groups (logistic loss) at most `most_grouped` examples, for all labels
// together, are kept as a sample of whole groups (capstan/model/group_auc.h).
void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums,
                     size_t most_grouped = kMostGroupedExamples);

// Adds `from`, which was received, to `into`. INVALID_ARGUMENT, with `into` unchanged: a histogram
// of `from` is neither empty nor has kLogitBins bins, its sample of groups is malformed, or its
// labels are not those of `into`. REQUIRES: `into` was created by NoEvaluation and was only changed
// by this function.
[[nodiscard]] absl::Status MergeEvaluation(const v1::EvaluationResult& from,
                                           v1::EvaluationResult& into);

// Returns how many units of the label a difference of 1 in a model's output is: the label's
// deviation if the label is standardized, otherwise 1.
double LabelUnit(const v1::DataSpec& data);

// Returns a model's output in the label's own unit. (Only a job with one label can standardize it.)
double InLabelUnit(const v1::DataSpec& data, double output);

// Returns the metrics of one label, by name: loss for all losses; for logistic auc, logloss,
// accuracy, calibration (mean prediction / mean label), and with groups group_auc and group_share,
// the share of the groups from which group_auc is computed; for softmax logloss and accuracy; for
// squared rmse and mae (the mean absolute error), in the label's own unit: an output of 1 is
// `label_unit`. Empty without examples, or if all weights are 0. A metric that cannot be computed
// is omitted: auc without records of both classes and calibration without positive ones
// (capstan/model/oddness.h reports these), mae if a worker of an earlier version has reported no
// absolute errors.
std::map<std::string, double> MetricsOf(v1::Loss loss, const v1::EvaluationResult& sums,
                                        double label_unit = 1);

// Returns the metrics of a job. With several labels they are the metrics of the first label, except
// that `loss` is that of whole examples, and the metrics of each further label under its scope
// (capstan/base/metric_name.h).
std::map<std::string, double> MetricsOf(const v1::JobSpec& job, const v1::EvaluationResult& sums);

// Returns the metrics of an evaluation by their scope (capstan/base/metric_name.h). The scope "",
// that of the first set and label, always exists. The names are borrowed from `evaluation`.
std::map<std::string_view, std::map<std::string_view, double>> MetricsByScope(
    const v1::Evaluation& evaluation);

// Returns true if a higher value of the metric is better (auc, group_auc, accuracy), in any scope.
// Used by early stopping.
bool MoreIsBetter(std::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_METRICS_H_
