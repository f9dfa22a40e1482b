// The AUC within groups: how well a model orders the examples of one group (a user's, a query's),
// however it orders examples of different groups. It is the mean of the groups' AUCs, each weighted
// by the weight of the group's examples; groups with one class only are left out, and so
// are examples that name no group (an empty cell). This is the GAUC
// of Zhu et al., Optimized Cost per Click in Taobao Display Advertising (KDD 2017).
//
// An AUC needs the examples of a group in one place, so workers report the examples themselves and
// the chief keeps them, at most kMostGroupedExamples: those of all groups, or of a sample of whole
// groups, namely the groups whose hash lies below a bound. The bound is the largest power of two
// with which the sample fits, so it does not depend on which worker evaluated what, or on the order
// of merging. The AUC of the sample is exact.
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

// Adds a batch, which has groups and one output, to `sample`, which then holds at most `most`
// examples.
void AddToGroups(const Scores& scores, v1::GroupSample& sample, size_t most);

// Checks a sample that comes from the wire. INVALID_ARGUMENT: its fields do not all speak of the
// same number of examples, or are otherwise malformed.
absl::Status CheckGroups(const v1::GroupSample& sample);

// Adds `from` to `into`. REQUIRES: CheckGroups(from) is OK.
void MergeGroups(const v1::GroupSample& from, v1::GroupSample& into,
                 size_t most = kMostGroupedExamples);

// Takes half of the groups out of `sample`. Returns false if it cannot be halved any more.
bool HalveGroups(v1::GroupSample& sample);

// Returns the AUC within the groups of the sample. Nothing: no group has examples of both classes.
std::optional<double> GroupAuc(const v1::GroupSample& sample);

// Returns the expected share of all groups that the sample holds; 1: it holds all groups.
double ShareOfGroups(const v1::GroupSample& sample);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_GROUP_AUC_H_
