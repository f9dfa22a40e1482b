// Which job a command is about.
#ifndef CAPSTAN_CLI_LOCAL_TARGET_H_
#define CAPSTAN_CLI_LOCAL_TARGET_H_

#include <string>

#include "absl/status/statusor.h"

namespace capstan::cli {

// Whom to ask, and what to read where nobody answers. Empty: there is none; one of them there is.
struct Target {
  std::string chief;   // host:port
  std::string folder;  // <checkpoint.uri>/<job>
};

// What the user means: the folder or the chief as told (empty: not), or the chief of
// $CAPSTAN_CHIEF, or else the last `capstan train` of the present folder. `folder` may be that of a
// run, too. A run that is over has no chief. INVALID_ARGUMENT: an address is none, or nothing tells
// which job is meant.
absl::StatusOr<Target> FindTarget(const std::string& folder, const std::string& chief);

// The same for who has to speak to the chief. INVALID_ARGUMENT also where the last run has none.
absl::StatusOr<std::string> FindChief(const std::string& chief);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_TARGET_H_
