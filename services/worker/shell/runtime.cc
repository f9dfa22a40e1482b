#include "worker/shell/runtime.h"

#include <utility>

#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/metrics/cgroup.h"
#include "capstan/process/heaps.h"
#include "capstan/process/identity.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/health.h"
#include "worker/shell/registration.h"
#include "worker/shell/worker.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kTryAgain = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Start(const RuntimeOptions& options,
                                                        ModelSource& model,
                                                        const Shutdown& shutdown) {
  LimitHeaps(HeapsFor(metrics::UsableMemoryBytes()));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<const Tls> tls,
                           SetUpProcess(options.service, "worker", options.name));
  std::unique_ptr<Runtime> runtime(new Runtime(options, model, shutdown));
  runtime->tls_ = std::move(tls);
  MeasureProcess(runtime->registry_, runtime->tls_.get());
  CAPSTAN_ASSIGN_OR_RETURN(SidePorts side,
                           SidePorts::Open(options.host, options.service, runtime->registry_));
  runtime->side_ = std::make_unique<SidePorts>(std::move(side));
  CAPSTAN_ASSIGN_OR_RETURN(const Ports ports, runtime->side_->Tell(/*data=*/0));
  log::Info("started", {{"version", Version()},
                        {"chief", options.chief},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics}});
  runtime->side_->health().Set(Probe::kStartup, true);
  runtime->thread_ = std::thread([started = runtime.get()] { started->Run(); });
  return runtime;
}

Runtime::Runtime(const RuntimeOptions& options, ModelSource& model, const Shutdown& shutdown)
    : options_(options), model_(model), shutdown_(shutdown), metrics_(registry_) {}

Runtime::~Runtime() {
  if (thread_.joinable()) thread_.join();
}

absl::Status Runtime::Wait() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&ended_));
  return end_;
}

bool Runtime::AwaitEnd(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(&ended_), timeout);
}

void Runtime::Run() {
  const absl::Status end = Work();
  if (end.ok()) log::Info("stopped");
  model_.OnEnd();
  absl::MutexLock lock(&mu_);
  end_ = end;
  ended_ = true;
}

absl::Status Runtime::Work() {
  EventLoop loop;
  const Channel chief = NewChannel(options_.chief, Role::kChief, tls_.get());
  Incarnation former{};
  for (;;) {
    const Incarnation incarnation = NewIncarnation();
    absl::StatusOr<v1::RegisterWorkerReply> registration =
        RegisterWithModel(loop, chief, incarnation, std::exchange(former, incarnation));
    if (absl::IsCancelled(registration.status())) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(registration.status());
    log::Info("registered", {{"trainers", registration->trainers_size()}});
    CAPSTAN_ASSIGN_OR_RETURN(
        std::unique_ptr<Worker> worker,
        Worker::Create({.name = options_.name,
                        .incarnation = incarnation,
                        .min_step = options_.min_step,
                        .declaration = declared_ == nullptr ? nullptr : &declared_->declaration,
                        .drain = options_.drain,
                        .tls = tls_.get()},
                       *registration, model_, loop, chief, metrics_));
    side_->health().Set(Probe::kReadiness, true);
    const WorkerEnd end = worker->Run(shutdown_);
    side_->health().Set(Probe::kReadiness, false);
    if (end == WorkerEnd::kDrained) return absl::OkStatus();
  }
}

// A worker that runs the user's own program registers more than once. The first time it says
// nothing of its model: the answer tells it the job, by which it knows whether its model is of that
// job. It gets no trainers before the chief knows the program's model.
absl::StatusOr<v1::RegisterWorkerReply> Runtime::RegisterWithModel(EventLoop& loop,
                                                                   const Channel& chief,
                                                                   Incarnation incarnation,
                                                                   Incarnation former) {
  for (bool declares = false;; declares = true) {
    CAPSTAN_ASSIGN_OR_RETURN(v1::RegisterWorkerReply reply,
                             Register(loop, chief,
                                      {.chief = options_.chief,
                                       .name = options_.name,
                                       .incarnation = incarnation,
                                       .former = former,
                                       .give_up_after = options_.chief_deadline,
                                       .declaration = declares ? &declared_->declaration : nullptr},
                                      shutdown_));
    log::SetJob(reply.job().job());
    if (reply.trainers_size() > 0) return reply;
    CAPSTAN_RETURN_IF_ERROR(Declare(loop, chief, reply, declares));
  }
}

// `has_declared`: the chief has been told the declaration by the call that it has answered so.
absl::Status Runtime::Declare(EventLoop& loop, const Channel& chief,
                              const v1::RegisterWorkerReply& reply, bool has_declared) {
  absl::StatusOr<const DeclaredModel*> declared = model_.Declare(reply.job());
  if (const std::optional<v1::UserCodeError> failure = model_.failure()) {
    TellFailure(loop, chief, options_.name, *failure);
  }
  CAPSTAN_ASSIGN_OR_RETURN(declared_, std::move(declared));
  absl::Status told;
  if (reply.model_wanted()) told = DeclareModel(chief, *declared_, shutdown_);
  if (absl::IsCancelled(told)) return told;
  const bool again = absl::IsUnavailable(told);
  if (again) log::Warn("the model could not be declared yet", {{"error", told}});
  if (!told.ok() && !again) {
    v1::UserCodeError refused;
    refused.set_message(std::string(told.message()));
    TellFailure(loop, chief, options_.name, refused);
    return told;
  }
  const bool pause = again || (has_declared && !reply.model_wanted());
  if (pause && shutdown_.WaitFor(kTryAgain)) return absl::CancelledError("asked to stop");
  return absl::OkStatus();
}

}  // namespace capstan::worker
