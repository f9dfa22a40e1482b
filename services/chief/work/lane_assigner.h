// Decides which trainer holds which lane: a pure function.
#ifndef CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
#define CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_

#include <optional>
#include <span>
#include <vector>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Returns the new holder of each lane. `holders` are the present ones; nullopt: the lane has none.
// Lanes are assigned evenly over `trainers`: the numbers of lanes of two trainers differ by at most
// one, and as few lanes as possible change their holder. Holders that are not among `trainers` lose
// their lanes. If the lanes do not divide evenly, the trainers that have most, or else those named
// first, get one more. Without trainers no lane has a holder.
//
// A trainer that must give up lanes keeps some from all over its range. Gradients are added in the
// order of the lanes, so a trainer with many neighbouring lanes would make the others wait.
std::vector<std::optional<TrainerId>> AssignLanes(std::span<const std::optional<TrainerId>> holders,
                                                  std::span<const TrainerId> trainers);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
