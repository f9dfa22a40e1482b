// Metrics of a model on held-out data, from sums that merge by addition (v1::EvaluationResult), so
// that workers evaluate tasks apart and the chief adds up.
//
// AUC comes from two histograms over the logit, of the positives and of the negatives. A bin is as
// wide as 1/256 of (1 + |logit|) rounded down to a power of two: 1/256 for |logit| < 1, 1/128 below
// 3, 1/64 below 7, and so on to 255, above which everything lies in the outermost bin. A pair
// within one bin counts one half, so the error is at most half the share of such pairs
// (Auc::error). Where the model's order within a bin is no better than chance it is zero; on Criteo
// it is below 1e-5.
#ifndef CAPSTAN_MODEL_METRICS_H_
#define CAPSTAN_MODEL_METRICS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/model/loss.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr int kLogitBins = 4096;

// The histograms' bin of a logit: exact and the same on every machine. NaN lies in bin 0.
int LogitBin(float logit);

// Adds a batch to `sums`. The histograms are only filled for the logistic loss.
void AddToEvaluation(const Scores& scores, v1::EvaluationResult& sums);

// Adds `from` to `into`. INVALID_ARGUMENT, and `into` unchanged, if a histogram of `from` is
// neither empty nor of kLogitBins bins: it comes from the wire. REQUIRES: `into` was made by these
// functions only.
[[nodiscard]] absl::Status MergeEvaluation(const v1::EvaluationResult& from,
                                           v1::EvaluationResult& into);

struct Auc {
  double value = 0;  // NaN where one of the classes is missing.
  double error = 0;  // Upper bound of |value - the exact AUC|.
};

// REQUIRES: both of kLogitBins bins.
Auc AucOf(std::span<const uint64_t> positives, std::span<const uint64_t> negatives);

// How many units of the label a difference of 1 in a model's output is: more than one where the
// label is standardized.
double LabelUnit(const v1::DataSpec& data);

// What an output means in the label's own unit.
double InLabelUnit(const v1::DataSpec& data, double output);

// The metrics that mean something for the loss, by name: loss; logistic: auc, logloss, accuracy,
// calibration (mean prediction / mean label); softmax: logloss, accuracy; squared: rmse, in
// the label's own unit, of which an output of 1 is `label_unit`. Empty without examples. What
// cannot be computed is left out: auc without records of both classes, calibration without positive
// ones; capstan/model/oddness.h says so in words.
std::map<std::string, double> MetricsOf(v1::Loss loss, const v1::EvaluationResult& sums,
                                        double label_unit = 1);

// Returns whether more of the metric is better (auc, accuracy). Early stopping asks.
bool MoreIsBetter(std::string_view metric);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_METRICS_H_
