#include "chief/chief_process.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/config/config.h"
#include "capstan/data/tasks.h"
#include "capstan/metrics/registry.h"
#include "capstan/process/identity.h"
#include "capstan/process/service.h"
#include "capstan/rpc/health.h"
#include "capstan/rpc/server.h"
#include "capstan/security/tls.h"
#include "chief/chief_service.h"
#include "chief/job_claim.h"
#include "chief/job_planning.h"
#include "chief/job_watch.h"
#include "chief/term.h"

namespace capstan::chief {
namespace {

constexpr size_t kMaxWatchers = 8192;
constexpr absl::Duration kLinger = absl::Seconds(2);  // So that watchers and screens see the end.
constexpr absl::Duration kDrain = absl::Seconds(1);
constexpr absl::Duration kLastWrite = absl::Seconds(10);  // Of the state, when the job is over.
constexpr size_t kMostHousekeeping = 64;
constexpr absl::Duration kOthersAreToldToo = absl::Seconds(2);  // Within this, all of a release.
constexpr absl::Duration kGlance = absl::Milliseconds(100);
constexpr absl::Duration kLookAtFile = absl::Seconds(2);

void Announce(const ProcessOptions& options, const JobPlan& plan, const Ports& ports) {
  log::Info("started", {{"version", Version()},
                        {"port", ports.data},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics},
                        {"shards", options.shards},
                        {"tasks", plan.train.size()},
                        {"records", EstimateRecords(plan.train)},
                        {"eval_tasks", plan.eval.size()}});
}

struct Glance {
  bool ended = false;
  bool stored = false;
  bool superseded = false;
};

Glance LookAt(ControlLoop& control) {
  return control.Run([](ChiefMachine& chief, absl::Time) {
    return Glance{
        .ended = chief.state() == v1::JOB_STATE_COMPLETED || chief.state() == v1::JOB_STATE_FAILED,
        .stored = chief.stored(),
        .superseded = chief.superseded()};
  });
}

// What the job goes by, and in what the data are others than those by now.
struct Running {
  v1::JobSpec spec;
  std::string data_note;
};

// Looks at the job file now and then, on a thread of its own, and has the machine tell of what is
// found there.
class ChangeTeller {
 public:
  ChangeTeller(const ProcessOptions& options, const Running& running, ControlLoop& control)
      : watch_(
            options.job, [&options] { return ReadJob(options.job, options.overrides); },
            running.spec, running.data_note),
        control_(control) {}

  void Glance(absl::Time now) {
    if (now < next_) return;
    next_ = now + kLookAtFile;
    (void)thread_.Post([this] { Look(); });  // False: an earlier look takes long.
  }

 private:
  void Look() {
    std::optional<std::string> change = watch_.Look();
    if (!change) return;
    control_.Run([&change](ChiefMachine& chief, absl::Time) {
      chief.NoteJobChange(*std::move(change));
      return true;
    });
  }

  JobWatch watch_;
  ControlLoop& control_;
  absl::Time next_ = absl::InfinitePast();
  StoreThread thread_{1};
};

// Serves until the process is to end. ABORTED: another chief has taken the job over.
absl::Status Serve(const ProcessOptions& options, const Running& running, ControlLoop& control,
                   const Clock& clock, const Shutdown& shutdown) {
  std::optional<ChangeTeller> teller;
  if (options.keep_job) teller.emplace(options, running, control);
  absl::Time ended_at = absl::InfiniteFuture();
  while (!shutdown.WaitFor(kGlance)) {
    if (teller) teller->Glance(clock.Now());
    const Glance glance = LookAt(control);
    if (glance.superseded) return absl::AbortedError("another chief has taken this job over");
    if (!glance.ended || !options.exit_when_done) continue;
    ended_at = std::min(ended_at, clock.Now());
    const absl::Duration since = clock.Now() - ended_at;
    if (since >= (glance.stored ? kLinger : kLastWrite)) break;
  }
  return absl::OkStatus();
}

// A release that is upgraded or taken down stops its shards together with the chief, and they need
// its consent, and a checkpoint.
void SeeShardsOff(ControlLoop& control, const Clock& clock, absl::Duration grace) {
  const absl::Time begun = clock.Now();
  bool wait = true;
  while (wait && clock.Now() < begun + grace) {
    absl::SleepFor(kGlance);
    const bool soon = clock.Now() < begun + kOthersAreToldToo;
    wait = control.Run([soon](ChiefMachine& chief, absl::Time now) {
      const bool busy = chief.state() == v1::JOB_STATE_RUNNING && !chief.superseded();
      return busy && (soon || chief.SeesShardsOff(now));
    });
  }
}

int ExitCode(const v1::GetStatusReply& status) {
  if (status.state() != v1::JOB_STATE_FAILED) return 0;
  return status.failure_kind() == v1::FAILURE_KIND_BAD_INPUT ? 2 : 1;
}

// Where no state is kept a later chief has a higher term by the time of day.
absl::StatusOr<Claim> ClaimTerm(const ProcessOptions& options, const JobPlan& plan, JobStore* store,
                                uint64_t run_id, absl::Time now) {
  if (store == nullptr) {
    return Claim{.term = TermByTime(absl::Now()), .plan = plan};
  }
  ClaimOptions claim{.run_id = run_id,
                     .fresh = options.fresh,
                     .fresh_once = options.fresh_once,
                     .from = options.from};
  if (options.keep_job) claim.keep = PlanOf;
  return ClaimJob(*store, plan, claim, now);
}

// Its certificate must be of the job that it leads, or nobody would believe it.
absl::Status CheckCertificate(const std::string& job) {
  const Tls* tls = ProcessTls();
  if (tls == nullptr || tls->identity().job() == job) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(tls->identity().certificate_file, ": is of job ",
                                                 tls->identity().job(), ", the job file's is ",
                                                 job));
}

absl::StatusOr<int> Run(const ProcessOptions& options, const JobPlan& asked_for, JobStore* store,
                        metrics::Registry& registry) {
  CAPSTAN_RETURN_IF_ERROR(CheckCertificate(asked_for.spec.job()));
  const Shutdown shutdown;
  const SteadyClock clock;
  CAPSTAN_ASSIGN_OR_RETURN(const SidePorts side,
                           SidePorts::Open(HostOf(options.listen), options.service, registry));
  ViewFeed views(kMaxWatchers);
  const uint64_t run_id = RandomId();
  CAPSTAN_ASSIGN_OR_RETURN(Claim claim, ClaimTerm(options, asked_for, store, run_id, clock.Now()));
  const JobPlan plan = claim.plan;
  const Running running{.spec = plan.spec, .data_note = TrainDataNote(claim.data_change)};
  ChiefMetrics chief_metrics(registry, plan.spec);
  StoreThread housekeeping(kMostHousekeeping);
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<CurveFile> curve,
                           OpenCurveFile(plan.spec, claim.anew, housekeeping));
  ControlLoop control(ChiefMachine({.term = claim.term, .run_id = run_id, .shards = options.shards},
                                   std::move(claim.plan), clock.Now(), std::move(claim.history)),
                      {.clock = clock,
                       .views = views,
                       .curve = *curve,
                       .store = store,
                       .housekeeping = housekeeping,
                       .metrics = chief_metrics});
  ChiefService service(control, views);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Server> server,
                           Server::Start({.listen = options.listen}, {&service}));
  CAPSTAN_ASSIGN_OR_RETURN(const Ports ports, side.Tell(server->port()));
  Announce(options, plan, ports);
  side.health().Set(Probe::kStartup, true);
  side.health().Set(Probe::kReadiness, true);
  const absl::Status served = Serve(options, running, control, clock, shutdown);
  side.health().Set(Probe::kReadiness, false);
  if (served.ok()) SeeShardsOff(control, clock, absl::Seconds(options.grace_seconds));
  const v1::GetStatusReply status = control.Status();
  views.Close();
  control.AnswerAskers();
  server->Shutdown(kDrain);
  log::Info("stopped", {{"job", status.job()}, {"state", v1::JobState_Name(status.state())}});
  if (!served.ok()) {
    log::Error(std::string(served.message()));
    return 1;
  }
  return options.exit_when_done ? ExitCode(status) : 0;
}

// The plan of a job that is stored though its file has mistakes by now. `mistakes` if there is
// none.
absl::StatusOr<JobPlan> PlanOfStored(const ProcessOptions& options, const absl::Status& mistakes) {
  const absl::StatusOr<JobPlace> place = FindJob(options.job, options.overrides);
  if (!options.keep_job || !place.ok()) return mistakes;
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<JobStore> store,
                           JobStore::Open(place->checkpoint_uri, place->job));
  CAPSTAN_ASSIGN_OR_RETURN(std::optional<v1::ChiefState> state, store->ReadState());
  const bool begun = state && state->state() != v1::JOB_STATE_PENDING;
  if (!begun || StartsOver(*state, {.fresh = options.fresh, .fresh_once = options.fresh_once})) {
    return mistakes;
  }
  state->mutable_job()->mutable_checkpoint()->set_uri(place->checkpoint_uri);
  return PlanOf(std::move(*state->mutable_job()));
}

int Refuse(const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    log::Error(std::string(line));
  }
  return 2;
}

}  // namespace

int RunChief(const ProcessOptions& options) {
  const absl::Status ready = SetUpProcess(options.service, "chief");
  if (!ready.ok()) return Refuse(ready);
  absl::StatusOr<JobPlan> plan = PlanJob(options.job, options.overrides);
  if (!plan.ok()) plan = PlanOfStored(options, plan.status());
  if (!plan.ok()) return Refuse(plan.status());
  log::SetJob(plan->spec.job());
  metrics::Registry registry;
  MeasureProcess(registry);
  std::unique_ptr<JobStore> store;
  if (const std::string& uri = plan->spec.checkpoint().uri(); !uri.empty()) {
    absl::StatusOr<std::unique_ptr<JobStore>> opened = JobStore::Open(uri, plan->spec.job());
    if (!opened.ok()) return Refuse(opened.status());
    store = *std::move(opened);
  }
  absl::StatusOr<int> code = Run(options, *plan, store.get(), registry);
  return code.ok() ? *code : Refuse(code.status());
}

}  // namespace capstan::chief
