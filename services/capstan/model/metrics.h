// Metrics of a model on held-out data, from sums that merge by addition (v1::EvaluationResult), so
// that workers evaluate tasks apart and the chief adds up.
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

// The sums of no record of these data.
v1::EvaluationResult NoEvaluation(const v1::DataSpec& data);

// Adds a batch to `sums`; where examples have several labels, to those of each label. The
// histograms are only filled for the logistic loss, absolute errors only for the squared one.
// Weights of examples count in all of it: one of weight 2 is as two of them; weights of labels do
// not. Of examples with groups (logistic loss) at most `most_grouped` are kept, of all labels
// together, as a sample of whole groups (capstan/model/group_auc.h).
void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums,
                     size_t most_grouped = kMostGroupedExamples);

// Adds `from` to `into`. INVALID_ARGUMENT, and `into` unchanged, if a histogram of `from` is
// neither empty nor of kLogitBins bins, its sample of groups no sample, or its labels are not those
// of `into`: it comes from the wire. REQUIRES: `into` was made by NoEvaluation, and
// changed by this function only.
[[nodiscard]] absl::Status MergeEvaluation(const v1::EvaluationResult& from,
                                           v1::EvaluationResult& into);

// How many units of the label a difference of 1 in a model's output is: more than one where the
// label is standardized.
double LabelUnit(const v1::DataSpec& data);

// What an output means in the label's own unit (only one label is ever standardized).
double InLabelUnit(const v1::DataSpec& data, double output);

// The metrics of one label that mean something for the loss, by name: loss; logistic: auc, logloss,
// accuracy, calibration (mean prediction / mean label), and with groups group_auc and group_share,
// the share of the groups that it is of; softmax: logloss, accuracy; squared: rmse and mae (the
// mean of the absolute errors), in the label's own unit, of which an output of 1 is `label_unit`.
// Empty without examples, or where all weights are 0. What cannot be computed is left out: auc
// without records of both classes, calibration without positive ones, of which
// capstan/model/oddness.h speaks; mae where a worker of an earlier version has told no absolute
// errors.
std::map<std::string, double> MetricsOf(v1::Loss loss, const v1::EvaluationResult& sums,
                                        double label_unit = 1);

// Those of a job. With several labels they are those of the first one, but for `loss`, which is the
// examples', and those of each further one behind its name (capstan/base/metric_name.h).
std::map<std::string, double> MetricsOf(const v1::JobSpec& job, const v1::EvaluationResult& sums);

// The metrics of an evaluation by their scope (capstan/base/metric_name.h), "" for that of the
// first set and label, which is always there. The names are borrowed from `evaluation`.
std::map<std::string_view, std::map<std::string_view, double>> MetricsByScope(
    const v1::Evaluation& evaluation);

// Returns whether more of the metric, of whichever set, is better (auc, group_auc, accuracy).
// Early stopping asks.
bool MoreIsBetter(std::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_METRICS_H_
