// The AUC within groups: how well a model puts the examples of one group (a user's, a query's) in
// order, whatever the groups are like among each other. It is the mean of the groups' AUCs, each
// weighted by the weight of the group's examples; groups with one class only are left out. This is
// the GAUC of Zhu et al., Optimized Cost per Click in Taobao Display Advertising (KDD 2017).
//
// An AUC needs the examples of a group in one place, so they travel and are kept, as many as
// kMostGroupedExamples: those of all groups, or of a sample of whole groups, namely those whose
// hash lies below a bound. The bound is the largest power of two with which the sample fits, so
// it does not depend on who evaluated what, or in which order samples were merged. Of one sample
// the result is exact.
#ifndef CAPSTAN_MODEL_GROUP_AUC_H_
#define CAPSTAN_MODEL_GROUP_AUC_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "capstan/model/loss.h"
#include "capstan/v1/chief.pb.h"

namespace capstan {

// 17 bytes each in a worker's report and in the chief.
inline constexpr size_t kMostGroupedExamples = size_t{1} << 20;

// Adds a batch with groups and one output to `sample`, which then holds at most `most` examples.
void AddToGroups(const Scores& scores, v1::GroupSample& sample, size_t most);

// Returns INVALID_ARGUMENT unless `sample`, which comes from the wire, says all there is to say
// about each of its examples.
absl::Status CheckGroups(const v1::GroupSample& sample);

// Adds `from` to `into`. REQUIRES: CheckGroups(from) is OK.
void MergeGroups(const v1::GroupSample& from, v1::GroupSample& into,
                 size_t most = kMostGroupedExamples);

// Takes half of the groups out of `sample`. Returns false if it cannot be halved any more.
bool HalveGroups(v1::GroupSample& sample);

// Nothing: no group has examples of both classes.
std::optional<double> GroupAuc(const v1::GroupSample& sample);

// The share of all groups that the sample holds, by expectation: 1 is all of them.
double ShareOfGroups(const v1::GroupSample& sample);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_GROUP_AUC_H_
