// Finds the optimizer of a dense tensor: that of optimizer.dense, or of one of its groups.
#ifndef CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_
#define CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns true if `pattern`, in which each * matches any text, matches the whole of `name`.
bool MatchesName(std::string_view pattern, std::string_view name);

// Returns the optimizer of a trained tensor: that of the first group with a pattern that matches
// its name, otherwise that of optimizer.dense itself.
const v1::OptimizerSpec& OptimizerOfTensor(const v1::JobSpec& spec, std::string_view name);

// INVALID_ARGUMENT: a group matches none of the names in `trained`, the trained tensors.
absl::Status CheckGroups(const v1::JobSpec& spec, const std::vector<std::string>& trained);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_OPTIMIZER_GROUPS_H_
