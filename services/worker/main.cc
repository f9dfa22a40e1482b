// The worker: leases tasks or lanes, computes gradients, pushes them. Disposable at any moment.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/process/flags.h"
#include "capstan/process/identity.h"
#include "worker/shell/model_source.h"
#include "worker/shell/runtime.h"

namespace capstan::worker {
namespace {

struct Flags {
  RuntimeOptions runtime;
  double chief_deadline_seconds = 300;
  double min_step_ms = 0;
  double drain_seconds = 4;
};

absl::Status Run(Flags& flags) {
  flags.runtime.chief_deadline = absl::Seconds(flags.chief_deadline_seconds);
  flags.runtime.min_step = absl::Milliseconds(flags.min_step_ms);
  flags.runtime.drain = absl::Seconds(flags.drain_seconds);
  const Shutdown shutdown;
  TowerSource towers;
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                           Runtime::Start(flags.runtime, towers, shutdown));
  return runtime->Wait();
}

}  // namespace
}  // namespace capstan::worker

int main(int argc, char** argv) {
  capstan::worker::Flags flags;
  flags.runtime.name = capstan::HostName();
  CLI::App app("Capstan's worker: leases tasks, computes gradients, pushes them.");
  app.add_option("--chief", flags.runtime.chief, "host:port of the chief")
      ->required()
      ->check(capstan::AddressMistake);
  app.add_option("--name", flags.runtime.name, "name in the job, unique among the workers")
      ->capture_default_str();
  app.add_option("--host", flags.runtime.host, "address to listen on")->capture_default_str();
  capstan::AddServiceFlags(app, "worker", flags.runtime.service);
  app.add_option("--chief-deadline", flags.chief_deadline_seconds,
                 "seconds to wait for the chief before giving up")
      ->check(CLI::PositiveNumber);
  app.add_option("--drain", flags.drain_seconds,
                 "seconds from SIGTERM in which steps under way are finished; what is not done is "
                 "given back")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--min-step-ms", flags.min_step_ms,
                 "take at least so long to compute a batch: a steady pace, or a straggler's, for "
                 "experiments")
      ->check(CLI::Range(0.0, 60000.0));
  if (const std::optional<int> code = capstan::ParseFlags(app, argc, argv)) return *code;
  const absl::Status status = capstan::worker::Run(flags);
  if (status.ok()) return 0;
  capstan::log::Error(std::string(status.message()));
  return capstan::ExitCodeOf(status);
}
