// The worker: leases tasks or lanes, computes gradients, pushes them. Disposable at any moment.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/exit_code.h"
#include "capstan/base/locks.h"
#include "capstan/base/log.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/steady_waits.h"
#include "capstan/base/version.h"
#include "capstan/metrics/process_metrics.h"
#include "capstan/metrics/registry.h"
#include "capstan/metrics/server.h"
#include "capstan/objectstore/measured_object_store.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/health.h"
#include "worker/registration.h"
#include "worker/worker.h"

namespace capstan::worker {
namespace {

struct Flags {
  std::string chief;
  std::string name;
  std::string host = "0.0.0.0";
  int health_port = 7001;
  int metrics_port = 9090;
  std::string ports_file;
  std::string log_format = "text";
  double chief_deadline_seconds = 300;
  double slow_down = 1;
};

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

Incarnation NewIncarnation() {
  std::random_device device;
  const uint64_t bits = (uint64_t{device()} << 32) | device();
  return Incarnation{bits | 1};  // Never 0.
}

absl::Status Work(const Flags& flags, HealthServer& health, WorkerMetrics& metrics,
                  const Shutdown& shutdown) {
  EventLoop loop;
  const Channel chief = NewChannel(flags.chief);
  for (;;) {
    const Incarnation incarnation = NewIncarnation();
    absl::StatusOr<v1::RegisterWorkerReply> registration =
        Register(loop, chief,
                 {.chief = flags.chief,
                  .name = flags.name,
                  .incarnation = incarnation,
                  .give_up_after = absl::Seconds(flags.chief_deadline_seconds)},
                 shutdown);
    if (absl::IsCancelled(registration.status())) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(registration.status());
    log::SetJob(registration->job().job());
    log::Info("registered", {{"members", registration->members_size()}});
    CAPSTAN_ASSIGN_OR_RETURN(
        std::unique_ptr<Worker> worker,
        Worker::Create(
            {.name = flags.name, .incarnation = incarnation, .slow_down = flags.slow_down},
            *registration, loop, chief, metrics));
    health.Set(Probe::kReadiness, true);
    const WorkerEnd end = worker->Run(shutdown);
    health.Set(Probe::kReadiness, false);
    if (end == WorkerEnd::kDrained) return absl::OkStatus();
  }
}

absl::Status Run(const Flags& flags) {
  CAPSTAN_ASSIGN_OR_RETURN(const log::Format format, log::ParseFormat(flags.log_format));
  LockWithoutSearch();
  WaitBySteadyClock();
  log::Init({.format = format, .role = "worker", .id = flags.name});
  const Shutdown shutdown;
  metrics::Registry registry;
  metrics::AddBuildInfo(registry);
  metrics::AddProcessMetrics(registry);
  MeasureObjectStores(registry);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<metrics::Server> exposer,
                           metrics::Server::Start(registry, flags.host, flags.metrics_port));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<HealthServer> health,
                           HealthServer::Start(absl::StrCat(flags.host, ":", flags.health_port)));
  if (!flags.ports_file.empty()) {
    CAPSTAN_RETURN_IF_ERROR(
        WritePortsFile(flags.ports_file, {.health = health->port(), .metrics = exposer->port()}));
  }
  log::Info("started", {{"version", Version()},
                        {"chief", flags.chief},
                        {"health_port", health->port()},
                        {"metrics_port", exposer->port()}});
  health->Set(Probe::kStartup, true);
  WorkerMetrics metrics(registry);
  absl::Status end = Work(flags, *health, metrics, shutdown);
  if (end.ok()) log::Info("stopped");
  return end;
}

}  // namespace
}  // namespace capstan::worker

int main(int argc, char** argv) {
  capstan::worker::Flags flags;
  flags.name = capstan::worker::HostName();
  CLI::App app("Capstan's worker: leases tasks, computes gradients, pushes them.");
  app.add_option("--chief", flags.chief, "host:port of the chief")->required();
  app.add_option("--name", flags.name, "name in the job, unique among the workers")
      ->capture_default_str();
  app.add_option("--host", flags.host, "address to listen on")->capture_default_str();
  app.add_option("--health-port", flags.health_port, "0: any free one")
      ->check(CLI::Range(0, 65535));
  app.add_option("--metrics-port", flags.metrics_port, "0: any free one")
      ->check(CLI::Range(0, 65535));
  app.add_option("--ports-file", flags.ports_file, "write the chosen ports to this file");
  app.add_option("--log-format", flags.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--chief-deadline", flags.chief_deadline_seconds,
                 "seconds to wait for the chief before giving up")
      ->check(CLI::PositiveNumber);
  app.add_option("--slow-down", flags.slow_down,
                 "compute this many times slower: a straggler, for experiments")
      ->check(CLI::Range(1.0, 1000.0));
  app.set_version_flag("--version", capstan::VersionLine("worker"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::Status status = capstan::worker::Run(flags);
  if (status.ok()) return 0;
  capstan::log::Error(std::string(status.message()));
  return capstan::ExitCodeOf(status);
}
