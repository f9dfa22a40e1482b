// Which optimizer a dense tensor has: that of optimizer.dense, or of one of its groups.
#ifndef CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_
#define CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Whether `pattern`, in which each * stands for any text, is all of `name`.
bool MatchesName(std::string_view pattern, std::string_view name);

// The optimizer of a trained tensor: that of the first group which names it, or else that of all
// dense tensors.
const v1::OptimizerSpec& OptimizerOfTensor(const v1::JobSpec& spec, std::string_view name);

// INVALID_ARGUMENT: a group has none of these tensors, which are those that are trained.
absl::Status CheckGroups(const v1::JobSpec& spec, const std::vector<std::string>& trained);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_
