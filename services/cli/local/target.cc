#include "cli/local/target.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "cli/local/run_folder.h"

namespace capstan::cli {
namespace {

constexpr char kChiefVariable[] = "CAPSTAN_CHIEF";

absl::Status CheckAddress(const std::string& from, const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  const bool good = colon != address.npos && colon > 0 &&
                    absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port < 65536;
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      from, ": ", Quoted(address), " is not host:port, such as 127.0.0.1:7000 or ctr-chief:7000"));
}

// The port of a chief that is gone may be another job's by now.
Target TargetOfRun(const std::string& run_folder) {
  Target target{.folder = JobOfRun(run_folder)};
  if (!IsRunAlive(run_folder)) return target;
  const absl::StatusOr<Ports> ports = ReadPortsFile(run_folder + "/chief.ports");
  if (ports.ok()) target.chief = absl::StrCat("127.0.0.1:", ports->data);
  return target;
}

// Both are empty where nothing tells which job is meant.
absl::StatusOr<Target> LookForTarget(const std::string& chief) {
  const char* variable = std::getenv(kChiefVariable);
  for (const auto& [from, address] :
       {std::pair("--chief", chief),
        std::pair(kChiefVariable, std::string(variable ? variable : ""))}) {
    if (address.empty()) continue;
    CAPSTAN_RETURN_IF_ERROR(CheckAddress(from, address));
    return Target{.chief = address};
  }
  return TargetOfRun(absl::StrCat(kRunsFolder, "/latest"));
}

}  // namespace

absl::StatusOr<Target> FindTarget(const std::string& folder, const std::string& chief) {
  if (!folder.empty()) {
    Target run = TargetOfRun(folder);
    return run.folder.empty() ? Target{.folder = folder} : run;
  }
  CAPSTAN_ASSIGN_OR_RETURN(Target target, LookForTarget(chief));
  if (!target.chief.empty() || !target.folder.empty()) return target;
  return absl::InvalidArgumentError(
      "which job? Say --chief host:port, set CAPSTAN_CHIEF, or name the job's folder, "
      "<checkpoint.uri>/<job>, or the --run-dir of its run; no run was started in this folder");
}

absl::StatusOr<std::string> FindChief(const std::string& chief) {
  CAPSTAN_ASSIGN_OR_RETURN(const Target target, LookForTarget(chief));
  if (!target.chief.empty()) return target.chief;
  return absl::InvalidArgumentError(
      absl::StrCat("which job? Say --chief host:port, or set CAPSTAN_CHIEF; ",
                   target.folder.empty() ? "no run was started in this folder"
                                         : "the last run of this folder is over"));
}

}  // namespace capstan::cli
