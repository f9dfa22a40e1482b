// What the subcommands have in common. Each adds itself to the parser; the one that is chosen
// leaves in `run` what is to be done.
#ifndef CAPSTAN_CLI_COMMANDS_COMMAND_H_
#define CAPSTAN_CLI_COMMANDS_COMMAND_H_

#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/terminal/exit_code.h"

namespace capstan::cli {

struct Invocation {
  std::string programs;             // The folder this program is in, and its siblings.
  std::string program = "capstan";  // As it is called in this shell.
  std::function<ExitCode()> run;
};

// Both must outlive the parsing.
void AddTrain(CLI::App& app, Invocation& invocation);
void AddStatus(CLI::App& app, Invocation& invocation);
void AddCheck(CLI::App& app, Invocation& invocation);
void AddTop(CLI::App& app, Invocation& invocation);
void AddShards(CLI::App& app, Invocation& invocation);
void AddRebalance(CLI::App& app, Invocation& invocation);
void AddEvaluate(CLI::App& app, Invocation& invocation);
void AddPredict(CLI::App& app, Invocation& invocation);
void AddServe(CLI::App& app, Invocation& invocation);
void AddCheckpoint(CLI::App& app, Invocation& invocation);
void AddConfig(CLI::App& app, Invocation& invocation);
void AddPlan(CLI::App& app, Invocation& invocation);
void AddData(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);

// ModelIn (cli/model/stored_job.h), which says on standard error what it has taken in the place of
// `uri`.
absl::StatusOr<std::string> FindModel(const std::string& uri);

// Writes "capstan: <message>" to standard error.
void PrintError(const std::string& message);

// On stdout, as Printable makes it: like all that a command prints, it may hold what others have
// written.
void PrintLine(const std::string& line);

// Prints why a command failed, if it did. What is not there or cannot be read as what it should be
// is bad input.
ExitCode ReportEnd(const absl::Status& status);

// Writes why a job is refused as it is, "job.yaml:12: ...", a line each, so that an editor finds
// the place.
void PrintRefusal(const absl::Status& refusal);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_COMMAND_H_
