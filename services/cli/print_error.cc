#include <cstdio>

#include "cli/command.h"

namespace capstan::cli {

void PrintError(const std::string& message) {
  std::fprintf(stderr, "capstan: %s\n", message.c_str());
}

ExitCode ReportEnd(const absl::Status& status) {
  if (status.ok()) return kDone;
  PrintError(std::string(status.message()));
  const bool input = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                     absl::IsFailedPrecondition(status);
  return input ? kBadInput : kFailed;
}

void PrintRefusal(const absl::Status& refusal) {
  std::fprintf(stderr, "%s\n", std::string(refusal.message()).c_str());
}

}  // namespace capstan::cli
