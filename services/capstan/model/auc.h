// The area under the ROC curve from two histograms over the logit, one of the positives and one of
// the negatives. Histograms can be merged by addition, so workers can evaluate tasks separately.
//
// The width of a bin is 1/256 of (1 + |logit|) rounded down to a power of two: 1/256 for |logit| <
// 1, 1/128 below 3, 1/64 below 7, and so on up to 255; all larger values are in the outermost bin.
// A pair within one bin counts one half, so the error is at most half the share of such pairs
// (Auc::error). The error is zero if the model orders the examples of a bin no better than chance;
// on Criteo it is below 1e-5. chance; on Criteo it is below 1e-5.
#ifndef CAPSTAN_MODEL_AUC_H_
#define CAPSTAN_MODEL_AUC_H_

#include <cstdint>
#include <span>

namespace capstan {

inline constexpr int kLogitBins = 4096;

// Returns the bin of a logit; the same on every machine. NaN is in bin 0.
int LogitBin(float logit);

struct Auc {
  double value = 0;  // NaN if one of the classes is missing.
  double error = 0;  // Upper bound of |value - the exact AUC|.
};

// Returns the AUC from counts, or from sums of weights. REQUIRES: both histograms have kLogitBins
// bins.
Auc AucOf(std::span<const uint64_t> positives, std::span<const uint64_t> negatives);
Auc AucOf(std::span<const double> positives, std::span<const double> negatives);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_AUC_H_
