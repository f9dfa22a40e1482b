// Finds the job that a command is about.
#ifndef CAPSTAN_CLI_LOCAL_TARGET_H_
#define CAPSTAN_CLI_LOCAL_TARGET_H_

#include <string>

#include "absl/status/statusor.h"

namespace capstan::cli {

// The chief to ask, and the folder to read if it does not answer. Either may be empty, but not
// both.
struct Target {
  std::string chief;   // host:port
  std::string folder;  // <checkpoint.uri>/<job>
};

// Returns the job that the user means: `folder` or `chief` if given (not empty), or the chief of
// $CAPSTAN_CHIEF, or else the last `capstan train` in the present folder. `folder` may be the
// folder of a run, too; the result has no chief if that run is over. INVALID_ARGUMENT: an address
// is not host:port, or nothing tells which job is meant.
absl::StatusOr<Target> FindTarget(const std::string& folder, const std::string& chief);

// The same for a command that needs the chief. INVALID_ARGUMENT also if the last run has no chief.
absl::StatusOr<std::string> FindChief(const std::string& chief);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_TARGET_H_
