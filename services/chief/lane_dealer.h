// Who holds which lane: a pure function.
#ifndef CAPSTAN_CHIEF_LANE_DEALER_H_
#define CAPSTAN_CHIEF_LANE_DEALER_H_

#include <optional>
#include <span>
#include <vector>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Deals lanes evenly over `members`: no two differ by more than one lane, and as few lanes as
// possible change hands. `holders` names the present holder of each lane, or none; holders that are
// not among the members lose theirs. The odd lanes stay with those who have them, or go to the
// members named first. Without members nobody holds anything.
std::vector<std::optional<MemberId>> DealLanes(std::span<const std::optional<MemberId>> holders,
                                               std::span<const MemberId> members);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_LANE_DEALER_H_
