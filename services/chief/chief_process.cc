#include "chief/chief_process.h"

#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/clock.h"
#include "capstan/base/locks.h"
#include "capstan/base/log.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/data/tasks.h"
#include "capstan/metrics/process_metrics.h"
#include "capstan/metrics/registry.h"
#include "capstan/metrics/server.h"
#include "capstan/rpc/health.h"
#include "capstan/rpc/server.h"
#include "chief/chief_service.h"
#include "chief/job_planning.h"

namespace capstan::chief {
namespace {

constexpr size_t kMaxWatchers = 8192;
constexpr absl::Duration kLinger = absl::Seconds(2);  // So that watchers and screens see the end.
constexpr absl::Duration kDrain = absl::Seconds(1);
constexpr absl::Duration kGlance = absl::Milliseconds(100);

uint64_t RandomId() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::string HostOf(const std::string& listen) { return listen.substr(0, listen.rfind(':')); }

// The ports of their own that answer whatever the job does.
struct SidePorts {
  metrics::Registry registry;
  std::unique_ptr<metrics::Server> metrics;
  std::unique_ptr<HealthServer> health;
};

absl::Status OpenSidePorts(const ProcessOptions& options, SidePorts& ports) {
  metrics::AddBuildInfo(ports.registry);
  metrics::AddProcessMetrics(ports.registry);
  const std::string host = HostOf(options.listen);
  CAPSTAN_ASSIGN_OR_RETURN(ports.metrics,
                           metrics::Server::Start(ports.registry, host, options.metrics_port));
  CAPSTAN_ASSIGN_OR_RETURN(ports.health,
                           HealthServer::Start(absl::StrCat(host, ":", options.health_port)));
  return absl::OkStatus();
}

absl::Status Announce(const ProcessOptions& options, const JobPlan& plan, const Ports& ports) {
  log::Info("started", {{"version", Version()},
                        {"port", ports.data},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics},
                        {"shards", options.shards},
                        {"tasks", plan.train.size()},
                        {"records", EstimateRecords(plan.train)},
                        {"eval_tasks", plan.eval.size()}});
  if (options.ports_file.empty()) return absl::OkStatus();
  return WritePortsFile(options.ports_file, ports);
}

// Serves until the process is to end.
v1::GetStatusReply Serve(const ProcessOptions& options, ControlLoop& control,
                         const Shutdown& shutdown) {
  for (;;) {
    if (shutdown.WaitFor(kGlance)) return control.Status();
    const v1::JobState state =
        control.Run([](ChiefMachine& chief, absl::Time) { return chief.state(); });
    const bool ended = state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED;
    if (!ended || !options.exit_when_done) continue;
    shutdown.WaitFor(kLinger);
    return control.Status();
  }
}

int ExitCode(const v1::GetStatusReply& status) {
  if (status.state() != v1::JOB_STATE_FAILED) return 0;
  return status.failure_kind() == v1::FAILURE_KIND_BAD_INPUT ? 2 : 1;
}

absl::StatusOr<int> Run(const ProcessOptions& options, JobPlan plan, JobFiles& files) {
  const Shutdown shutdown;
  const SteadyClock clock;
  SidePorts side;
  CAPSTAN_RETURN_IF_ERROR(OpenSidePorts(options, side));
  ChiefMetrics chief_metrics(side.registry, plan.spec);
  ViewFeed views(kMaxWatchers);
  const JobPlan announced = plan;
  ControlLoop control(
      ChiefMachine({.run_id = RandomId(), .shards = options.shards}, std::move(plan), clock.Now()),
      {.clock = clock, .views = views, .files = files, .metrics = chief_metrics});
  ChiefService service(control, views);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Server> server,
                           Server::Start({.listen = options.listen}, {&service}));
  CAPSTAN_RETURN_IF_ERROR(Announce(
      options, announced,
      {.data = server->port(), .health = side.health->port(), .metrics = side.metrics->port()}));
  side.health->Set(Probe::kStartup, true);
  side.health->Set(Probe::kReadiness, true);
  const v1::GetStatusReply status = Serve(options, control, shutdown);
  side.health->Set(Probe::kReadiness, false);
  views.Close();
  server->Shutdown(kDrain);
  log::Info("stopped", {{"job", status.job()}, {"state", v1::JobState_Name(status.state())}});
  return options.exit_when_done ? ExitCode(status) : 0;
}

int Refuse(const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    log::Error(std::string(line));
  }
  return 2;
}

}  // namespace

int RunChief(const ProcessOptions& options) {
  absl::StatusOr<log::Format> format = log::ParseFormat(options.log_format);
  if (!format.ok()) return Refuse(format.status());
  LockWithoutSearch();
  log::Init({.format = *format, .role = "chief"});
  absl::StatusOr<JobPlan> plan = PlanJob(options.job, options.overrides);
  if (!plan.ok()) return Refuse(plan.status());
  log::SetJob(plan->spec.job());
  absl::StatusOr<std::unique_ptr<JobFiles>> files = JobFiles::Open(plan->spec);
  if (!files.ok()) return Refuse(files.status());
  absl::StatusOr<int> code = Run(options, *std::move(plan), **files);
  return code.ok() ? *code : Refuse(code.status());
}

}  // namespace capstan::chief
