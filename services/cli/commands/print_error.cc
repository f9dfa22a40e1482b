#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands/command.h"
#include "cli/model/stored_job.h"
#include "cli/terminal/format.h"

namespace capstan::cli {

void PrintLine(const std::string& line) { std::printf("%s\n", Printable(line).c_str()); }

void PrintError(const std::string& message) {
  const char* prefix = "capstan: ";
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    std::fprintf(stderr, "%s%s\n", prefix, Printable(std::string(line)).c_str());
    prefix = "";
  }
}

ExitCode ReportEnd(const absl::Status& status) {
  if (status.ok()) return kDone;
  PrintError(std::string(status.message()));
  const bool input = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                     absl::IsFailedPrecondition(status);
  return input ? kBadInput : kFailed;
}

absl::StatusOr<std::string> FindModel(const std::string& uri) {
  absl::StatusOr<std::string> model = ModelIn(uri);
  if (model.ok() && *model != uri) PrintError(absl::StrCat("taking the model ", *model));
  return model;
}

void PrintRefusal(const absl::Status& refusal) {
  for (const absl::string_view line : absl::StrSplit(refusal.message(), '\n')) {
    std::fprintf(stderr, "%s\n", Printable(std::string(line)).c_str());
  }
}

}  // namespace capstan::cli
