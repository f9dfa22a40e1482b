// Who holds which lane: a pure function.
#ifndef CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
#define CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_

#include <optional>
#include <span>
#include <vector>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Returns the new holder of each lane. `holders` are the present ones, or none. Lanes are assigned
// evenly over `trainers`: no two trainers differ by more than one lane, and as few lanes as
// possible change their holder. Holders that are not among `trainers` lose their lanes. If the
// lanes do not divide evenly, the trainers that have most, or else those named first, get one more.
//
// The lanes that a trainer keeps are spread over those that it had: gradients are added in the
// order of the lanes, so the other trainers would have to wait for one that has many neighbouring
// lanes. Without trainers no lane has a holder.
std::vector<std::optional<TrainerId>> AssignLanes(std::span<const std::optional<TrainerId>> holders,
                                                  std::span<const TrainerId> trainers);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LANE_ASSIGNER_H_
