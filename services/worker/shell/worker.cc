#include "worker/shell/worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/consistency/batches_ahead.h"
#include "capstan/consistency/decisions.h"
#include "capstan/model/layout.h"
#include "capstan/rpc/limits.h"
#include "capstan/rpc/view_watch.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kViewRetry = absl::Milliseconds(500);
constexpr absl::Duration kRateWindow = absl::Seconds(1);
constexpr absl::Duration kWarnEvery = absl::Seconds(5);
// What was computed before the program failed is pushed meanwhile.
constexpr absl::Duration kDrainOfGone = absl::Seconds(4);
constexpr absl::Duration kStallWorthTelling = absl::Milliseconds(500);
// While an object store is away, or does not let us in. The chief gives the work to others long
// before that, and says what is waited for (data_stall).
constexpr absl::Duration kDataPatience = absl::Minutes(15);

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Create(WorkerOptions options,
                                                       const v1::RegisterWorkerReply& registration,
                                                       ModelSource& model, EventLoop& loop,
                                                       Channel chief, WorkerMetrics& metrics) {
  CAPSTAN_ASSIGN_OR_RETURN(ParameterMap parameters, ParameterMap::Create(registration.job()));
  std::unique_ptr<Worker> worker(new Worker(std::move(options), registration, loop,
                                            std::move(chief), metrics, std::move(parameters)));
  CAPSTAN_RETURN_IF_ERROR(worker->AddTrainers(registration, model));
  return worker;
}

Worker::Worker(WorkerOptions options, const v1::RegisterWorkerReply& registration, EventLoop& loop,
               Channel chief, WorkerMetrics& metrics, ParameterMap parameters)
    : options_(std::move(options)),
      job_(registration.job()),
      parameters_(std::move(parameters)),
      loop_(loop),
      chief_(std::move(chief)),
      metrics_(metrics),
      source_(NewDataFiles({.patience = kDataPatience, .outlasts_refusals = true})),
      steps_(parameters_, TablesOfFeatures(job_)),
      waiting_opens_(kMaxStreamsPerConnection / 4),
      read_ahead_({.batches = BatchesAhead(job_), .bytes = kReadAheadBytes}),
      prefetcher_(ReaderOptionsOf(job_),
                  {.batches_ahead = BatchesCutAhead(job_),
                   .unpacked_feeds = kUnpackedFeeds * job_.train().compute_threads()},
                  source_),
      machine_({.name = options_.name,
                .incarnation = options_.incarnation,
                .progress_grain = ProgressGrain(job_)},
               registration, *this),
      context_{.job = job_,
               .parameters = parameters_,
               .clock = clock_,
               .loop = loop_,
               .prefetcher = prefetcher_,
               .steps = steps_,
               .waiting_opens = waiting_opens_,
               .read_ahead = read_ahead_,
               .grouped = grouped_,
               .progress = machine_.progress(),
               .metrics = metrics_} {}

Worker::~Worker() {
  source_->Cancel();  // So that the prefetcher does not wait for a read.
  loop_.Cancel(view_call_);
  loop_.Cancel(heartbeat_call_);
  loop_.Cancel(registration_call_);
  machine_.RemoveTrainers();
  trainers_.clear();
  // Runs the callbacks of calls that were cancelled and of what was posted, while what they refer
  // to still exists.
  while (loop_.Poll(absl::Milliseconds(10)) || loop_.calls_under_way() > 0) {
  }
}

absl::Status Worker::AddTrainers(const v1::RegisterWorkerReply& registration, ModelSource& model) {
  model_ = &model;
  const ComputeOptions options{.clip_norm = job_.train().clip_norm(),
                               .min_step = options_.min_step};
  std::shared_ptr<ProcessChannels> channels;
  for (uint64_t id : registration.trainers()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Computer> computer,
                             model.NewComputer(job_, options, loop_));
    if (trainers_.size() % TrainersOfAConnection(job_) == 0) {
      channels = std::make_shared<ProcessChannels>(options_.tls);
    }
    trainers_[TrainerId{id}] =
        std::make_unique<Trainer>(context_, TrainerId{id}, channels, std::move(computer));
    machine_.AddTrainer(TrainerId{id}, *trainers_[TrainerId{id}]);
  }
  metrics_.compute_threads.Set(static_cast<double>(trainers_.size()));
  return absl::OkStatus();
}

WorkerEnd Worker::Run(const Shutdown& shutdown) {
  WatchView();
  for (;;) {
    if (shutdown.requested() && !machine_.draining()) BeginDrain();
    const absl::Time now = Now();
    if (now >= view_retry_) WatchView();
    if (const std::optional<WorkerEnd> end = machine_.Turn(now)) return *end;
    loop_.Poll(UntilNextTurn());
  }
}

absl::Duration Worker::UntilNextTurn() const {
  // A shutdown request is noticed within this time.
  constexpr absl::Duration kLongest = absl::Milliseconds(200);
  const absl::Time next = std::min(machine_.NextTurn(), view_retry_);
  return std::clamp(next - Now(), absl::ZeroDuration(), kLongest);
}

// ---- the view ----

void Worker::WatchView() {
  view_retry_ = absl::InfiniteFuture();
  view_call_ = capstan::WatchView(
      loop_, chief_, v1::WatchViewRequest(),
      [this](const v1::View& view) { machine_.OnView(view); },
      [this](absl::Status) { view_retry_ = Now() + kViewRetry; });
}

// ---- the chief ----

void Worker::SendHeartbeat(const v1::WorkerHeartbeatRequest& request) {
  CAPSTAN_FAILPOINT("worker.heartbeat");
  metrics_.leases_held.Set(static_cast<double>(machine_.leases()));
  heartbeat_call_ = loop_.Call<v1::WorkerHeartbeatReply>(
      chief_, "/capstan.v1.Chief/WorkerHeartbeat", request, kHeartbeatTimeout,
      [this](const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) { OnHeartbeat(reply); });
}

void Worker::OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
  // Once the job is over its chief ends, too.
  if (!reply.ok() && !machine_.job_over() && Now() >= heartbeat_warned_ + kWarnEvery) {
    heartbeat_warned_ = Now();
    log::Warn("no answer from the chief; the leases held are worked on meanwhile",
              {{"error", reply.status()}});
  }
  if (reply.ok() && reply->known()) CAPSTAN_FAILPOINT("worker.leases_answered");
  const bool was_over = machine_.job_over();
  machine_.OnHeartbeat(reply, Now());
  if (machine_.job_over() && !was_over) log::Info("the job is over; parked");
}

void Worker::SendRegistration(const v1::RegisterWorkerRequest& request) {
  log::Warn("the chief does not know this worker; registering again",
            {{"leases", machine_.leases()}});
  v1::RegisterWorkerRequest declared = request;
  if (options_.declaration != nullptr) *declared.mutable_declaration() = *options_.declaration;
  registration_call_ = loop_.Call<v1::RegisterWorkerReply>(
      chief_, "/capstan.v1.Chief/RegisterWorker", declared, kHeartbeatTimeout,
      [this](const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
        machine_.OnRegistered(reply);
      });
}

v1::WorkerReport Worker::MakeReport() {
  const absl::Time now = Now();
  if (now - last_report_ >= kRateWindow) {
    const double samples = metrics_.samples.value();
    if (last_report_ != absl::InfinitePast()) {
      examples_per_second_ = (samples - last_samples_) / absl::ToDoubleSeconds(now - last_report_);
    }
    last_samples_ = samples;
    last_report_ = now;
  }
  v1::WorkerReport report;
  report.set_examples_per_second(examples_per_second_);
  const double share = 1.0 / static_cast<double>(trainers_.size());
  for (const auto& [id, trainer] : trainers_) {
    const StepTimes& times = trainer->times();
    report.set_data_seconds(report.data_seconds() + share * times.data.seconds());
    report.set_pull_seconds(report.pull_seconds() + share * times.pull.seconds());
    report.set_compute_seconds(report.compute_seconds() + share * times.compute.seconds());
    report.set_push_seconds(report.push_seconds() + share * times.push.seconds());
    report.set_wait_seconds(report.wait_seconds() + share * times.round_wait.seconds());
  }
  Stall stall = stall_meter_.Look(prefetcher_.read_under_way(), now);
  metrics_.data_stalled_seconds.Set(absl::ToDoubleSeconds(stall.length));
  if (stall.length >= kStallWorthTelling) {
    report.set_stalled_seconds(absl::ToDoubleSeconds(stall.length));
    report.set_stalled_on(std::move(stall.on));
  }
  report.set_nonfinite_gradients(static_cast<uint64_t>(metrics_.nonfinite.value()));
  report.set_late_gradients(static_cast<uint64_t>(metrics_.late_gradients.value()));
  return report;
}

// ---- the end ----

void Worker::BeginDrain() {
  log::Info("draining: finishing the steps under way, giving back the rest");
  machine_.Drain(Now() +
                 (model_->gone() ? std::min(options_.drain, kDrainOfGone) : options_.drain));
}

}  // namespace capstan::worker
