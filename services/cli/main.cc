// The `capstan` command: reads its arguments and does what they say.

#include <signal.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "capstan/base/version.h"
#include "capstan/security/tls.h"
#include "cli/commands/command.h"
#include "cli/commands/suggest.h"
#include "cli/terminal/exit_code.h"

namespace {

using capstan::cli::ExitCode;
using capstan::cli::Invocation;

constexpr char kTlsVariable[] = "CAPSTAN_TLS";

// Returns the folder of chief, ps and worker: that of this program, or, as they are installed,
// libexec/capstan beside it.
std::string ProgramsFolder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return ".";
  const fs::path own = program.parent_path();
  const fs::path installed = own.parent_path() / "libexec" / "capstan";
  return fs::exists(own / "chief", error) ? own.string() : installed.string();
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // `capstan status | head` must not kill a training run.
  Invocation invocation;
  invocation.programs = ProgramsFolder();
  // A program that was called by its path is not in PATH, or another one is.
  const std::string typed = argc > 0 ? argv[0] : "";
  if (typed.find('/') != typed.npos) invocation.program = typed;
  CLI::App app("Capstan: a parameter server that lives on Kubernetes.", "capstan");
  app.set_version_flag("--version", capstan::VersionLine("cli"));
  app.footer(
      "Example:\n"
      "  capstan train job.yaml --shards 2 --workers 3\n\n"
      "Exit codes: 0 done, 1 failed, 2 bad input, 3 interrupted (status --watch, before the\n"
      "job's end).");
  app.require_subcommand(1);
  app.fallthrough();  // --tls may stand behind the subcommand, too.
  std::string& tls = invocation.tls;
  app.add_option("--tls", tls,
                 "Folder with tls.crt, tls.key and ca.crt: mutual TLS; default: plaintext")
      ->envname(kTlsVariable)
      ->type_name("FOLDER");
  capstan::cli::AddTrain(app, invocation);
  capstan::cli::AddStatus(app, invocation);
  capstan::cli::AddTop(app, invocation);
  capstan::cli::AddCheck(app, invocation);
  capstan::cli::AddShards(app, invocation);
  capstan::cli::AddRebalance(app, invocation);
  capstan::cli::AddStop(app, invocation);
  capstan::cli::AddEvaluate(app, invocation);
  capstan::cli::AddPredict(app, invocation);
  capstan::cli::AddServe(app, invocation);
  capstan::cli::AddCheckpoint(app, invocation);
  capstan::cli::AddConfig(app, invocation);
  capstan::cli::AddPlan(app, invocation);
  capstan::cli::AddData(app, invocation);
  capstan::cli::AddCompletion(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here as well, with 0.
    const std::string suggestion =
        error.get_exit_code() == 0 ? "" : capstan::cli::Suggestion(app, {argv + 1, argv + argc});
    if (suggestion.empty()) return app.exit(error) == 0 ? ExitCode::kDone : ExitCode::kBadInput;
    capstan::cli::PrintError(suggestion);
    return ExitCode::kBadInput;
  }
  const absl::StatusOr<std::unique_ptr<const capstan::Tls>> identity = capstan::Tls::Load(tls);
  if (!identity.ok()) return capstan::cli::ReportEnd(identity.status());
  invocation.identity = identity->get();
  // Passed on to the processes that `train` starts.
  if (!tls.empty()) setenv(kTlsVariable, std::filesystem::absolute(tls).c_str(), /*replace=*/1);
  // Likewise passed on to programs in Python: a set of names has the same order in each of them.
  setenv("PYTHONHASHSEED", "0", /*replace=*/0);
  // And its threads of OpenMP sleep while they have nothing to do. They would spin on processors
  // that shards and the worker's own threads wait for.
  setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0);
  return invocation.run();
}
