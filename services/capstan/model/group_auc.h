// The AUC within groups: how well a model orders the examples of one group (a user's, a query's),
// regardless of how it orders examples of different groups. It is the mean of the groups' AUCs,
// each weighted by the weight of the group's examples; groups with only one class are omitted, and
// so are examples without a group (an empty cell). This is the GAUC of Zhu et al., Optimized Cost
// per Click in Taobao Display Advertising (KDD 2017).
//
// An AUC needs the examples of a group in one place, so workers report the examples themselves and
// the chief keeps them, at most kMostGroupedExamples: those of all groups, or of a sample of whole
// groups, which are the groups whose hash is below a bound. The bound is the largest power of two
// for which the sample is small enough, so it depends neither on which worker evaluated what nor on
// the order of merging. The AUC of the sample is exact.
#ifndef CAPSTAN_MODEL_GROUP_AUC_H_
#define CAPSTAN_MODEL_GROUP_AUC_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "capstan/model/loss.h"
#include "capstan/v1/chief.pb.h"

namespace capstan {

// Each example takes 17 bytes in a worker's report and in the chief.
inline constexpr size_t kMostGroupedExamples = size_t{1} << 20;

// Adds a batch, which must have groups and one output, to `sample`, which then has at most `most`
// examples.
void AddToGroups(const Scores& scores, v1::GroupSample& sample, size_t most);

// Checks a sample that was received. INVALID_ARGUMENT: its fields do not all have the same number
// of examples, or are otherwise malformed.
absl::Status CheckGroups(const v1::GroupSample& sample);

// Adds `from` to `into`. REQUIRES: CheckGroups(from) is OK.
void MergeGroups(const v1::GroupSample& from, v1::GroupSample& into,
                 size_t most = kMostGroupedExamples);

// Removes half of the groups from `sample`. Returns false if it cannot be halved any more.
bool HalveGroups(v1::GroupSample& sample);

// Returns the AUC within the groups of the sample; nullopt if no group has examples of both
// classes.
std::optional<double> GroupAuc(const v1::GroupSample& sample);

// Returns the expected share of all groups that the sample contains; 1 if it contains all of them.
double ShareOfGroups(const v1::GroupSample& sample);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_GROUP_AUC_H_
