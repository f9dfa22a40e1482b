// What the subcommands have in common. Each adds itself to the parser; the parse then sets
// Invocation::run to the action of the chosen one.
#ifndef CAPSTAN_CLI_COMMANDS_COMMAND_H_
#define CAPSTAN_CLI_COMMANDS_COMMAND_H_

#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/terminal/exit_code.h"

namespace capstan {
class Tls;
}

namespace capstan::cli {

struct Invocation {
  std::string programs;             // The folder of chief, ps and worker.
  std::string program = "capstan";  // As it is called in this shell.
  std::string tls;                  // The folder of certificates, as given; empty: plaintext.
  const Tls* identity = nullptr;    // What it holds, when `run` is called; null: plaintext.
  std::function<ExitCode()> run;
};

// Each adds one subcommand. `app` and `invocation` must outlive the parsing.
void AddTrain(CLI::App& app, Invocation& invocation);
void AddStatus(CLI::App& app, Invocation& invocation);
void AddCheck(CLI::App& app, Invocation& invocation);
void AddTop(CLI::App& app, Invocation& invocation);
void AddShards(CLI::App& app, Invocation& invocation);
void AddRebalance(CLI::App& app, Invocation& invocation);
void AddStop(CLI::App& app, Invocation& invocation);
void AddEvaluate(CLI::App& app, Invocation& invocation);
void AddPredict(CLI::App& app, Invocation& invocation);
void AddServe(CLI::App& app, Invocation& invocation);
void AddCheckpoint(CLI::App& app, Invocation& invocation);
void AddConfig(CLI::App& app, Invocation& invocation);
void AddPlan(CLI::App& app, Invocation& invocation);
void AddData(CLI::App& app, Invocation& invocation);
void AddCompletion(CLI::App& app, Invocation& invocation);

// As ModelIn (cli/model/stored_job.h), and says on standard error which model is used if it is not
// `uri` itself.
absl::StatusOr<std::string> FindModel(const std::string& uri);

// Writes "capstan: <message>" to standard error.
void PrintError(const std::string& message);

// Writes a line to standard output, escaped by Printable, as it may hold text from outside.
void PrintLine(const std::string& line);

// Prints the error of a command, if it failed, and returns its exit code: kBadInput if something is
// missing or is not what it should be.
ExitCode ReportEnd(const absl::Status& status);

// Writes why a job is refused, unchanged, one line "job.yaml:12: ..." for each mistake, so that an
// editor finds the place.
void PrintRefusal(const absl::Status& refusal);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_COMMAND_H_
