#include "chief/shell/chief_process.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/open_files.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/config/config.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/data_warnings.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/metrics/registry.h"
#include "capstan/model/declaration.h"
#include "capstan/process/identity.h"
#include "capstan/process/liveness.h"
#include "capstan/process/service.h"
#include "capstan/rpc/health.h"
#include "capstan/rpc/server.h"
#include "capstan/security/seal.h"
#include "capstan/security/tls.h"
#include "chief/shell/change_teller.h"
#include "chief/shell/control_loop.h"
#include "chief/shell/doors.h"
#include "chief/shell/failure_detector.h"
#include "chief/shell/job_claim.h"
#include "chief/shell/job_planning.h"
#include "chief/shell/job_watch.h"
#include "chief/shell/learn_model.h"
#include "chief/shell/present_chief.h"
#include "chief/shell/process_end.h"
#include "chief/shell/refusal.h"
#include "chief/state/term.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kDrain = absl::Seconds(1);
constexpr size_t kMostHousekeeping = 64;
// How long to wait for SIGTERM to reach the shards, too.
constexpr absl::Duration kOthersAreToldToo = absl::Seconds(2);
constexpr absl::Duration kGlance = absl::Milliseconds(100);
constexpr absl::Duration kTryAgain = absl::Seconds(10);  // After a failure that may pass.

void Announce(const ProcessOptions& options, const JobPlan& plan, const Ports& ports) {
  log::Info("started", {{"version", Version()},
                        {"port", ports.data},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics},
                        {"shards", options.shards},
                        {"tasks", plan.train.size()},
                        {"records", plan.train.expected_records()},
                        {"eval_tasks", plan.eval.size()}});
}

struct Glance {
  bool ended = false;
  bool stored = false;
  bool superseded = false;
};

Glance LookAt(ControlLoop& control) {
  return control.Run([open = OpenFiles()](ChiefMachine& chief, absl::Time) {
    chief.NoteOpenFiles(open, OpenFilesLimit());
    return Glance{
        .ended = chief.state() == v1::JOB_STATE_COMPLETED || chief.state() == v1::JOB_STATE_FAILED,
        .stored = chief.stored(),
        .superseded = chief.superseded()};
  });
}

// Reads the job file again. Tensors that a user's program has declared are not in the file: they
// are taken from `running`.
absl::StatusOr<v1::JobSpec> ReadAgain(const ProcessOptions& options, const v1::JobSpec& running) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadJob(options.job, options.overrides));
  const bool declared = !spec.model().user().empty() && !running.model().user().empty();
  if (declared) *spec.mutable_tensors() = running.tensors();
  return spec;
}

// Adds warnings about unusual training data to the status.
void TellOfData(const JobPlan& plan, const Source& files, ControlLoop& control) {
  const TaskMix mix(plan.train, plan.spec.data(), plan.spec.seed());
  const absl::StatusOr<std::vector<DataWarning>> warnings = DataWarnings(files, plan.spec, mix);
  if (!warnings.ok()) {
    log::Warn("it is not known what is odd about the data", {{"error", warnings.status()}});
    return;
  }
  control.Run([&warnings](ChiefMachine& chief, absl::Time) {
    for (const DataWarning& warning : *warnings) chief.NoteWarning(warning.about, warning.sentence);
  });
}

// The settings of the running job, and a note on how its data have changed since it began.
struct Running {
  v1::JobSpec spec;
  std::string data_note;
};

// Serves until the process should end. ABORTED: another chief has taken the job over.
absl::Status Serve(const ProcessOptions& options, const Running& running, ControlLoop& control,
                   const Clock& clock, const Shutdown& shutdown) {
  std::optional<ChangeTeller> teller;
  if (options.keep_job) {
    JobWatch watch(
        options.job, [&] { return ReadAgain(options, running.spec); }, running.spec,
        running.data_note);
    teller.emplace(std::move(watch), [&control](std::string change) {
      control.Run(
          [&change](ChiefMachine& chief, absl::Time) { chief.NoteJobChange(std::move(change)); });
    });
  }
  ProcessEnd end;
  while (!shutdown.WaitFor(kGlance)) {
    if (teller) teller->Glance(clock.Now());
    const Glance glance = LookAt(control);
    if (glance.superseded) return absl::AbortedError("another chief has taken this job over");
    if (options.exit_when_done && end.IsDue(glance.ended, glance.stored, clock.Now())) break;
  }
  return absl::OkStatus();
}

// Waits, for at most `grace`, until no shard is leaving any more. A Helm release that is upgraded
// or removed stops its shards together with the chief, and to leave they need its consent and a
// checkpoint.
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

// What distinguishes this process from other chiefs of the job.
struct Self {
  uint64_t run_id;
  std::string address;
  const Tls* tls;  // Null: plaintext.
};

// Claims the job. If no state is stored, the term is the time of day, so that later chiefs have
// higher ones.
absl::StatusOr<Claim> ClaimTerm(const ProcessOptions& options, const JobPlan& plan, JobStore* store,
                                const std::string& initial, const Self& self, absl::Time now) {
  if (store == nullptr) {
    Claim claim{.term = TermByTime(absl::Now()), .plan = plan};
    CAPSTAN_RETURN_IF_ERROR(MeasureJob(claim.plan.spec));
    return claim;
  }
  ClaimOptions claim{.run_id = self.run_id,
                     .fresh = options.fresh,
                     .fresh_once = options.fresh_once,
                     .from = options.from,
                     .initial = initial,
                     .address = self.address,
                     .host = HostName()};
  if (!options.take_over) {
    claim.still_there = [&self](JobStore& store, const v1::ChiefState& present) {
      return ChiefIsStillThere(store, present, self.address, self.tls);
    };
  }
  claim.measure = MeasureJob;
  if (options.keep_job) claim.keep = PlanOf;
  return ClaimJob(*store, plan, claim, now);
}

FailureDetector::Parts DetectorOf(ControlLoop& control, const Clock& clock, ViewFeed& views) {
  using Process = ViewFeed::ShardProcess;
  return {.clock = clock,
          .views = views,
          .address_of =
              [&control](const Process& process) {
                return control.Run([&process](ChiefMachine& chief, absl::Time) {
                  return chief.AddressOf(process.shard, process.incarnation);
                });
              },
          .refuses = FailureDetector::AsksPort,
          .on_gone =
              [&control](const Process& process) {
                control.Run([&process](ChiefMachine& chief, absl::Time now) {
                  chief.OnShardGone(process.shard, process.incarnation, now);
                });
              }};
}

// INVALID_ARGUMENT: the chief's certificate is for another job, so that no other process would
// accept it.
absl::Status CheckCertificate(const Tls* tls, const std::string& job) {
  if (tls == nullptr || tls->identity().job() == job) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(tls->identity().certificate_file, ": is of job ",
                                                 tls->identity().job(), ", the job file's is ",
                                                 job));
}

// `model` is set for a job with a user's program.
absl::StatusOr<int> Run(const ProcessOptions& options, const JobPlan& asked_for, JobStore* store,
                        const std::optional<v1::StoredModel>& model, Doors& doors) {
  CAPSTAN_RETURN_IF_ERROR(CheckCertificate(doors.tls, asked_for.spec.job()));
  const Shutdown shutdown;
  const SteadyClock clock;
  HealthServer& health = doors.side->health();
  const Self self{.run_id = RandomId(),
                  .address = AddressToTell(options.advertise, options.listen, doors.server->port()),
                  .tls = doors.tls};
  CAPSTAN_ASSIGN_OR_RETURN(
      Claim claim,
      ClaimTerm(options, asked_for, store, InitialUri(asked_for.spec, model), self, clock.Now()));
  const JobPlan plan = claim.plan;
  TellPrograms(plan.spec, model, doors);
  const Running running{.spec = plan.spec, .data_note = TrainDataNote(claim.data_change)};
  ChiefMetrics chief_metrics(doors.registry, plan.spec, options.shards);
  StoreThread housekeeping(kMostHousekeeping);
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<CurveFile> curve,
                           OpenCurveFile(plan.spec, claim.anew, housekeeping));
  Liveness liveness(doors.side->health(), options.listen, doors.server->port());
  ControlLoop control(ChiefMachine({.term = claim.term,
                                    .run_id = self.run_id,
                                    .seal_key = Sealer::NewKey(),
                                    .shards = options.shards,
                                    .unnumbered_shards = options.unnumbered_shards},
                                   std::move(claim.plan), clock.Now(), std::move(claim.history)),
                      {.clock = clock,
                       .views = doors.views,
                       .curve = *curve,
                       .store = store,
                       .housekeeping = housekeeping,
                       .metrics = chief_metrics,
                       .liveness = &liveness,
                       .tls = doors.tls});
  std::optional<FailureDetector> failure_detector;
  if (plan.spec.replicas() > 0) failure_detector.emplace(DetectorOf(control, clock, doors.views));
  const std::unique_ptr<const Source> files = NewDataFiles();
  StoreThread look_at_data(1);
  (void)look_at_data.Post([&] { TellOfData(plan, *files, control); });
  CAPSTAN_ASSIGN_OR_RETURN(const Ports ports, doors.Tell());
  doors.door.Open(control);
  doors.reader.Open(running.spec);
  Announce(options, plan, ports);
  health.Set(Probe::kReadiness, true);
  const absl::Status served = Serve(options, running, control, clock, shutdown);
  files->Cancel();
  health.Set(Probe::kReadiness, false);
  if (served.ok()) SeeShardsOff(control, clock, absl::Seconds(options.grace_seconds));
  const v1::GetStatusReply status = control.Status();
  doors.views.Close();
  control.AnswerAskers();
  doors.server->Shutdown(kDrain);
  log::Info("stopped", {{"job", status.job()}, {"state", v1::JobState_Name(status.state())}});
  if (!served.ok()) {
    log::Error(std::string(served.message()));
    return 1;
  }
  return options.exit_when_done ? ExitCodeOfJob(status) : 0;
}

// Returns the plan of a stored job that continues although its file now has mistakes. Returns
// `mistakes` if there is no such job, or it may not continue like this.
absl::StatusOr<JobPlan> PlanOfStored(const ProcessOptions& options, const absl::Status& mistakes) {
  const absl::StatusOr<JobPlace> place = FindJob(options.job, options.overrides);
  if (!options.keep_job || !place.ok() || place->checkpoint_uri.empty()) return mistakes;
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

// Returns the name of the job; empty if it cannot be read from the file.
std::string NameOf(const ProcessOptions& options) {
  const absl::StatusOr<JobPlace> place = FindJob(options.job, options.overrides);
  return place.ok() ? place->job : "";
}

// Runs the job to its end, and returns the exit code. Returns an error if the job cannot be run,
// and was not begun.
absl::StatusOr<int> Lead(const ProcessOptions& options, Doors& doors) {
  const std::string name = NameOf(options);
  absl::StatusOr<JobPlan> plan =
      PlanJob(options.job, options.overrides, [&](size_t done, size_t files) {
        if (options.serve_refusal) doors.door.Tell(LookingStatus(name, done, files));
      });
  if (!plan.ok()) plan = PlanOfStored(options, plan.status());
  CAPSTAN_RETURN_IF_ERROR(plan.status());
  log::SetJob(plan->spec.job());
  std::unique_ptr<JobStore> store;
  if (const std::string& uri = plan->spec.checkpoint().uri(); !uri.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(store, JobStore::Open(uri, plan->spec.job()));
  }
  if (plan->spec.model().user().empty()) {
    return Run(options, *plan, store.get(), std::nullopt, doors);
  }
  if (store == nullptr) {
    return absl::InvalidArgumentError(
        "model.user: needs checkpoint.uri, where the values that the program begins with are kept");
  }
  v1::JobSpec job = plan->spec;
  job.clear_tensors();
  CAPSTAN_ASSIGN_OR_RETURN(const std::optional<v1::StoredModel> model,
                           LearnModel(options, job, *store, doors));
  if (!model) return 0;
  AddTensors(model->declaration(), plan->spec);
  return Run(options, *plan, store.get(), model, doors);
}

int Refuse(const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    log::Error(std::string(line));
  }
  return 2;
}

// Waits until the content of the job file is not `read` any more, or `patience` is over. Returns
// false if the process should end.
bool AwaitChange(const std::string& job, const std::optional<std::string>& read,
                 absl::Duration patience) {
  const Shutdown shutdown;
  const SteadyClock clock;
  const absl::Time begun = clock.Now();
  while (!shutdown.WaitFor(kGlance)) {
    if (ContentOf(job) != read || clock.Now() >= begun + patience) return true;
  }
  return false;
}

// Shows `status` in the chief's status and metrics.
void Tell(const v1::GetStatusReply& status, const ProcessOptions& options, Doors& doors) {
  doors.door.Tell(status);
  ChiefMetrics(doors.registry, v1::JobSpec(), options.shards).Update(status);
}

// Runs the job as soon as it can be run. Until then the status says why it cannot.
int LeadOrServeRefusals(const ProcessOptions& options, Doors& doors) {
  const absl::StatusOr<Ports> ports = doors.Tell();
  if (!ports.ok()) return Refuse(ports.status());
  Tell(LookingStatus(NameOf(options)), options, doors);
  while (true) {
    const std::optional<std::string> read = ContentOf(options.job);
    const absl::StatusOr<int> code = Lead(options, doors);
    if (code.ok()) return *code;
    Refuse(code.status());
    Tell(RefusedStatus(NameOf(options), code.status()), options, doors);
    const absl::Duration patience = MayPass(code.status()) ? kTryAgain : absl::InfiniteDuration();
    if (!AwaitChange(options.job, read, patience)) return 0;
    log::Info("the job is looked at again");
  }
}

}  // namespace

int RunChief(const ProcessOptions& options) {
  const absl::StatusOr<std::unique_ptr<const Tls>> tls = SetUpProcess(options.service, "chief");
  if (!tls.ok()) return Refuse(tls.status());
  if (options.unnumbered_shards == UnnumberedShards::kRefuse && *tls == nullptr) {
    return Refuse(absl::InvalidArgumentError(
        "--unnumbered-shards=refuse: needs --tls, as certificates carry the numbers"));
  }
  metrics::Registry registry;
  MeasureProcess(registry, tls->get());
  Doors doors(registry, tls->get());
  const absl::Status open = doors.Open(options);
  if (!open.ok()) return Refuse(open);
  // The chief has started, though it is not ready: however long it takes to read the data and the
  // store, a restart would not help.
  doors.side->health().Set(Probe::kStartup, true);
  if (options.serve_refusal) return LeadOrServeRefusals(options, doors);
  const absl::StatusOr<int> code = Lead(options, doors);
  return code.ok() ? *code : Refuse(code.status());
}

}  // namespace capstan::chief
