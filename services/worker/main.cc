// The worker: leases tasks or lanes, computes gradients, pushes them. Disposable at any moment.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/metrics/registry.h"
#include "capstan/process/flags.h"
#include "capstan/process/identity.h"
#include "capstan/process/service.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/health.h"
#include "worker/shell/registration.h"
#include "worker/shell/worker.h"

namespace capstan::worker {
namespace {

struct Flags {
  std::string chief;
  std::string name;
  std::string host = "0.0.0.0";
  ServiceOptions service;
  double chief_deadline_seconds = 300;
  double min_step_ms = 0;
};

absl::Status Work(const Flags& flags, HealthServer& health, WorkerMetrics& metrics,
                  const Shutdown& shutdown) {
  EventLoop loop;
  const Channel chief = NewChannel(flags.chief, Role::kChief);
  Incarnation former{};
  for (;;) {
    const Incarnation incarnation = NewIncarnation();
    absl::StatusOr<v1::RegisterWorkerReply> registration =
        Register(loop, chief,
                 {.chief = flags.chief,
                  .name = flags.name,
                  .incarnation = incarnation,
                  .former = std::exchange(former, incarnation),
                  .give_up_after = absl::Seconds(flags.chief_deadline_seconds)},
                 shutdown);
    if (absl::IsCancelled(registration.status())) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(registration.status());
    log::SetJob(registration->job().job());
    log::Info("registered", {{"trainers", registration->trainers_size()}});
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker,
                             Worker::Create({.name = flags.name,
                                             .incarnation = incarnation,
                                             .min_step = absl::Milliseconds(flags.min_step_ms)},
                                            *registration, loop, chief, metrics));
    health.Set(Probe::kReadiness, true);
    const WorkerEnd end = worker->Run(shutdown);
    health.Set(Probe::kReadiness, false);
    if (end == WorkerEnd::kDrained) return absl::OkStatus();
  }
}

absl::Status Run(const Flags& flags) {
  CAPSTAN_RETURN_IF_ERROR(SetUpProcess(flags.service, "worker", flags.name));
  const Shutdown shutdown;
  metrics::Registry registry;
  MeasureProcess(registry);
  CAPSTAN_ASSIGN_OR_RETURN(const SidePorts side,
                           SidePorts::Open(flags.host, flags.service, registry));
  CAPSTAN_ASSIGN_OR_RETURN(const Ports ports, side.Tell(/*data=*/0));
  log::Info("started", {{"version", Version()},
                        {"chief", flags.chief},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics}});
  side.health().Set(Probe::kStartup, true);
  WorkerMetrics metrics(registry);
  absl::Status end = Work(flags, side.health(), metrics, shutdown);
  if (end.ok()) log::Info("stopped");
  return end;
}

}  // namespace
}  // namespace capstan::worker

int main(int argc, char** argv) {
  capstan::worker::Flags flags;
  flags.name = capstan::HostName();
  CLI::App app("Capstan's worker: leases tasks, computes gradients, pushes them.");
  app.add_option("--chief", flags.chief, "host:port of the chief")
      ->required()
      ->check(capstan::AddressMistake);
  app.add_option("--name", flags.name, "name in the job, unique among the workers")
      ->capture_default_str();
  app.add_option("--host", flags.host, "address to listen on")->capture_default_str();
  capstan::AddServiceFlags(app, "worker", flags.service);
  app.add_option("--chief-deadline", flags.chief_deadline_seconds,
                 "seconds to wait for the chief before giving up")
      ->check(CLI::PositiveNumber);
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
