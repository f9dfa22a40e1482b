#include "worker/shell/worker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"
#include "worker/shell/progress_grain.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kViewRetry = absl::Milliseconds(500);
constexpr absl::Duration kRateWindow = absl::Seconds(1);
constexpr absl::Duration kWarnEvery = absl::Seconds(5);
constexpr absl::Duration kStallWorthTelling = absl::Milliseconds(500);
constexpr absl::Duration kDataPatience = absl::Minutes(15);  // While an object store is away.

SessionOptions SessionOptionsOf(const WorkerOptions& options, const v1::JobSpec& job,
                                const v1::RegisterWorkerReply& registration) {
  SessionOptions session{.name = options.name,
                         .incarnation = options.incarnation,
                         .heartbeat = absl::Seconds(job.lease().heartbeat_seconds())};
  for (uint64_t trainer : registration.trainers()) session.trainers.push_back(TrainerId{trainer});
  return session;
}

bool IsOver(v1::JobState state) {
  return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Create(WorkerOptions options,
                                                       const v1::RegisterWorkerReply& registration,
                                                       EventLoop& loop, Channel chief,
                                                       WorkerMetrics& metrics) {
  CAPSTAN_ASSIGN_OR_RETURN(ParameterMap parameters, ParameterMap::Create(registration.job()));
  std::unique_ptr<Worker> worker(new Worker(std::move(options), registration, loop,
                                            std::move(chief), metrics, std::move(parameters)));
  CAPSTAN_RETURN_IF_ERROR(worker->AddTrainers(registration));
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
      source_(NewDataFiles(kDataPatience)),
      steps_(parameters_),
      prefetcher_(ReaderOptionsOf(job_), {.batches_ahead = job_.train().prefetch_batches()},
                  source_),
      context_{.job = job_,
               .parameters = parameters_,
               .clock = clock_,
               .loop = loop_,
               .prefetcher = prefetcher_,
               .steps = steps_,
               .progress = progress_,
               .metrics = metrics_},
      session_(SessionOptionsOf(options_, job_, registration)) {}

Worker::~Worker() {
  source_->Cancel();  // Lest the prefetcher waits for it.
  loop_.Cancel(view_call_);
  loop_.Cancel(heartbeat_call_);
  loop_.Cancel(registration_call_);
  trainers_.clear();
  // The callbacks of what has been cancelled or posted run here, while what they refer to still
  // stands.
  while (loop_.Poll(absl::ZeroDuration()) || loop_.calls_under_way() > 0) {
  }
}

absl::Status Worker::AddTrainers(const v1::RegisterWorkerReply& registration) {
  for (uint64_t id : registration.trainers()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, Network::Create(job_));
    trainers_[TrainerId{id}] = std::make_unique<Trainer>(
        context_, TrainerId{id}, std::move(network),
        ComputeOptions{.clip_norm = job_.train().clip_norm(), .min_step = options_.min_step});
  }
  metrics_.compute_threads.Set(static_cast<double>(trainers_.size()));
  return absl::OkStatus();
}

WorkerEnd Worker::Run(const Shutdown& shutdown) {
  WatchView();
  while (known_) {
    if (shutdown.requested() && !draining_) BeginDrain();
    const absl::Time now = Now();
    if (now >= view_retry_) WatchView();
    for (auto& [id, trainer] : trainers_) trainer->leases().Wake(now);
    if (std::any_of(trainers_.begin(), trainers_.end(),
                    [](const auto& entry) { return entry.second->leases().HasEnded(); })) {
      ReportAll();
    }
    if (std::any_of(trainers_.begin(), trainers_.end(),
                    [](const auto& entry) { return entry.second->leases().HasNews(); })) {
      session_.Hurry();
    }
    session_.SetTrained(static_cast<uint64_t>(metrics_.samples.value()));
    if (now >= session_.NextHeartbeat()) SendHeartbeat();
    if (draining_ && (session_.Settled() || now >= drain_deadline_)) return WorkerEnd::kDrained;
    loop_.Poll(UntilNextDeadline());
  }
  return WorkerEnd::kUnknown;
}

absl::Duration Worker::UntilNextDeadline() const {
  // SIGTERM is noticed within a fifth of a second.
  constexpr absl::Duration kLongest = absl::Milliseconds(200);
  absl::Time next = std::min(session_.NextHeartbeat(), view_retry_);
  for (const auto& [id, trainer] : trainers_) next = std::min(next, trainer->leases().NextWake());
  return std::clamp(next - Now(), absl::ZeroDuration(), kLongest);
}

// ---- the view ----

void Worker::WatchView() {
  view_retry_ = absl::InfiniteFuture();
  view_call_ = loop_.Stream<v1::View>(
      chief_, "/capstan.v1.Chief/WatchView", v1::WatchViewRequest(),
      [this](v1::View view) { OnView(view); },
      [this](absl::Status) { view_retry_ = Now() + kViewRetry; });
}

void Worker::OnView(const v1::View& view) {
  if (EpochOf(view) <= EpochOf(view_)) return;
  std::vector<ShardIndex> restarted;
  for (const v1::ShardInfo& shard : view.shards()) {
    for (const v1::ShardInfo& before : view_.shards()) {
      if (before.index() == shard.index() && before.incarnation() != shard.incarnation()) {
        restarted.push_back(ShardIndex{static_cast<int32_t>(shard.index())});
      }
    }
  }
  // A chief that begins anew does not know yet where the partitions are to be.
  if (view.owners().empty() && !view_.owners().empty()) return;
  if (view.timeline() > view_.timeline()) {
    session_.ForgetBefore(view.timeline());
    for (auto& [id, trainer] : trainers_) trainer->leases().ForgetBefore(view.timeline());
  }
  view_ = view;
  const auto trainers = static_cast<uint64_t>(std::max(view_.trainers_size(), 1));
  session_.SetTellEvery((ProgressGrain(job_) + trainers - 1) / trainers);
  for (auto& [id, trainer] : trainers_) trainer->OnView(view, restarted);
}

// ---- heartbeats ----

void Worker::ReportAll() {
  for (auto& [id, trainer] : trainers_) trainer->ReportTo(session_);
}

void Worker::SendHeartbeat() {
  ReportAll();
  session_.SetReport(MakeReport());
  CAPSTAN_FAILPOINT("worker.heartbeat");
  metrics_.leases_held.Set(static_cast<double>(session_.leases()));
  heartbeat_call_ = loop_.Call<v1::WorkerHeartbeatReply>(
      chief_, "/capstan.v1.Chief/WorkerHeartbeat", session_.BeginHeartbeat(Now()),
      kHeartbeatTimeout,
      [this](absl::StatusOr<v1::WorkerHeartbeatReply> reply) { OnHeartbeat(std::move(reply)); });
}

void Worker::OnHeartbeat(absl::StatusOr<v1::WorkerHeartbeatReply> reply) {
  if (!reply.ok()) {
    session_.HeartbeatFailed(Now());
    if (Now() < heartbeat_warned_ + kWarnEvery) return;
    heartbeat_warned_ = Now();
    log::Warn("no answer from the chief; the leases held are worked on meanwhile",
              {{"error", reply.status()}});
    return;
  }
  CarryOut(session_.EndHeartbeat(*reply, Now()));
}

void Worker::CarryOut(const Orders& orders) {
  if (!orders.known) {
    RegisterAgain();
    return;
  }
  progress_ = orders.progress;
  for (const Generation& generation : orders.revoked) {
    for (auto& [id, trainer] : trainers_) trainer->leases().Revoke(generation);
  }
  for (const v1::Lease& lease : orders.extended) {
    auto found = trainers_.find(TrainerId{lease.trainer()});
    if (found != trainers_.end()) found->second->leases().Extend(lease);
  }
  CAPSTAN_FAILPOINT("worker.leases_answered");
  for (const v1::Lease& lease : orders.granted) {
    auto found = trainers_.find(TrainerId{lease.trainer()});
    if (found != trainers_.end()) found->second->leases().Grant(lease);
  }
  if (orders.state != state_ && IsOver(orders.state)) log::Info("the job is over; parked");
  state_ = orders.state;
}

// Another chief has come, or this one has given the worker up.
void Worker::RegisterAgain() {
  if (registering_) return;
  registering_ = true;
  log::Warn("the chief does not know this worker; registering again",
            {{"leases", session_.leases()}});
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(options_.name);
  request.set_incarnation(Raw(options_.incarnation));
  for (const auto& [id, trainer] : trainers_) request.add_trainers(Raw(id));
  registration_call_ = loop_.Call<v1::RegisterWorkerReply>(
      chief_, "/capstan.v1.Chief/RegisterWorker", request, kHeartbeatTimeout,
      [this](absl::StatusOr<v1::RegisterWorkerReply> reply) { OnRegistered(reply); });
}

void Worker::OnRegistered(const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
  registering_ = false;
  const absl::Status& status = reply.status();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return;  // At the next beat.
  // The trainers and the job must be those that the work under way is for.
  known_ = reply.ok() && reply->trainers_size() == static_cast<int>(trainers_.size()) &&
           std::all_of(reply->trainers().begin(), reply->trainers().end(),
                       [this](uint64_t id) { return trainers_.contains(TrainerId{id}); }) &&
           reply->job().SerializeAsString() == job_.SerializeAsString();
  session_.Hurry();
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
  draining_ = true;
  drain_deadline_ = Now() + options_.drain;
  log::Info("draining: finishing the steps under way, giving back the rest");
  for (auto& [id, trainer] : trainers_)
    trainer->leases().BeginDrain(drain_deadline_ - absl::Seconds(1));
  session_.Drain();
}

}  // namespace capstan::worker
