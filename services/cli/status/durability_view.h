// What `capstan status` says of checkpoints and recoveries. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_
#define CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_

#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "cli/terminal/paint.h"

namespace capstan::cli {

// What is safe, what was lost, what is waited for; nothing of a job that keeps nothing.
std::vector<std::string> DurabilityLines(const v1::GetStatusReply& status, const Paint& paint);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_DURABILITY_VIEW_H_
