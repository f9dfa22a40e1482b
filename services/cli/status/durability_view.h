// Shows checkpoints and recoveries in `capstan status`. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_
#define CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_

#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "cli/terminal/paint.h"

namespace capstan::cli {

// Returns lines that say what is saved, what was lost, and what is waited for; none for a job that
// saves nothing.
std::vector<std::string> DurabilityLines(const v1::GetStatusReply& status, const Paint& paint);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_
