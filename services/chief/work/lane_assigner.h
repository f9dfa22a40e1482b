// Who holds which lane: a pure function.
#ifndef CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
#define CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_

#include <optional>
#include <span>
#include <vector>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Assigns lanes evenly over `trainers`: no two differ by more than one lane, and as few lanes as
// possible change hands. What a trainer keeps is spread over what it had: gradients are added in
// the order of the lanes, so the others would have to wait for all of a row of neighbours.
// `holders` names the present holder of each lane, or none; holders that are not among the trainers
// lose theirs. The odd lanes stay with those who have them, or go to the trainers named first.
// Without trainers nobody holds anything.
std::vector<std::optional<TrainerId>> AssignLanes(std::span<const std::optional<TrainerId>> holders,
                                                  std::span<const TrainerId> trainers);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
