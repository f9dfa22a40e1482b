#include "worker/session/worker_machine.h"

#include <algorithm>
#include <utility>

#include "capstan/base/bounded_seconds.h"
#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::worker {
namespace {

// The last part of a drain, after the leases are over, in which the chief is told of it.
constexpr absl::Duration kFarewell = absl::Seconds(1);
// Between two heartbeats, whatever the chief says of the job.
constexpr absl::Duration kShortestBeat = absl::Milliseconds(10);
constexpr absl::Duration kLongestBeat = absl::Seconds(60);

SessionOptions SessionOptionsOf(const WorkerMachineOptions& options,
                                const v1::RegisterWorkerReply& registration) {
  SessionOptions session{.name = options.name,
                         .incarnation = options.incarnation,
                         .heartbeat = BoundedSeconds(registration.job().lease().heartbeat_seconds(),
                                                     kShortestBeat, kLongestBeat)};
  for (uint64_t trainer : registration.trainers()) session.trainers.push_back(TrainerId{trainer});
  return session;
}

}  // namespace

WorkerMachine::WorkerMachine(const WorkerMachineOptions& options,
                             const v1::RegisterWorkerReply& registration, WorkerShell& shell)
    : options_(options),
      job_(registration.job().SerializeAsString()),
      shell_(shell),
      session_(SessionOptionsOf(options, registration)) {}

WorkerMachine::WorkerMachine(const WorkerMachine& other, WorkerShell& shell)
    : options_(other.options_),
      job_(other.job_),
      shell_(shell),
      session_(other.session_),
      view_(other.view_),
      progress_(other.progress_),
      trainers_of_all_(other.trainers_of_all_),
      state_(other.state_),
      known_(other.known_),
      registering_(other.registering_),
      drain_deadline_(other.drain_deadline_) {}

// ---- the view ----

std::vector<ShardIndex> WorkerMachine::RestartedIn(const v1::View& view) const {
  std::vector<ShardIndex> restarted;
  for (const v1::ShardInfo& shard : view.shards()) {
    for (const v1::ShardInfo& before : view_.shards()) {
      if (before.index() == shard.index() && before.incarnation() != shard.incarnation()) {
        restarted.push_back(ShardIndex{static_cast<int32_t>(shard.index())});
      }
    }
  }
  return restarted;
}

void WorkerMachine::OnView(const v1::View& view) {
  if (EpochOf(view) <= EpochOf(view_)) return;
  // A chief that has just started does not know yet where the partitions are to be.
  if (view.owners().empty() && !view_.owners().empty()) return;
  if (view.timeline() > view_.timeline()) {
    session_.ForgetBefore(view.timeline());
    for (auto& [id, trainer] : trainers_) trainer->leases().ForgetBefore(view.timeline());
  }
  const std::vector<ShardIndex> restarted = RestartedIn(view);
  view_ = view;
  for (auto& [id, trainer] : trainers_) trainer->OnView(view_, restarted);
}

// Each worker tells the chief after its share of the grain, which is divided by the number of all
// trainers. It waits so long between two heartbeats that all workers together send at most about
// one every kSoonest.
void WorkerMachine::FollowProgress() {
  const uint64_t grain = options_.progress_grain.At(progress_.examples);
  session_.SetTellEvery((grain + trainers_of_all_ - 1) / trainers_of_all_,
                        trainers_of_all_ * kSoonest);
}

// ---- turns ----

std::optional<WorkerEnd> WorkerMachine::Turn(absl::Time now) {
  if (!known_) return WorkerEnd::kUnknown;
  for (auto& [id, trainer] : trainers_) trainer->leases().Wake(now);
  if (std::any_of(trainers_.begin(), trainers_.end(),
                  [](const auto& entry) { return entry.second->leases().HasEnded(); })) {
    ReportAll();
  }
  if (std::any_of(trainers_.begin(), trainers_.end(),
                  [](const auto& entry) { return entry.second->leases().HasNews(); })) {
    session_.Hurry();
  }
  session_.SetTrained(shell_.trained());
  if (now >= session_.NextHeartbeat()) SendHeartbeat(now);
  if (draining() && (session_.Settled() || now >= drain_deadline_)) return WorkerEnd::kDrained;
  return std::nullopt;
}

absl::Time WorkerMachine::NextTurn() const {
  absl::Time next = std::min(session_.NextHeartbeat(), drain_deadline_);
  for (const auto& [id, trainer] : trainers_) next = std::min(next, trainer->leases().NextWake());
  return next;
}

void WorkerMachine::Drain(absl::Time deadline) {
  drain_deadline_ = deadline;
  for (auto& [id, trainer] : trainers_) trainer->leases().BeginDrain(deadline - kFarewell);
  session_.Drain();
}

// ---- heartbeats ----

void WorkerMachine::ReportAll() {
  for (auto& [id, trainer] : trainers_) {
    trainer->leases().ReportTo(session_, trainer->StepSeconds());
  }
}

void WorkerMachine::SendHeartbeat(absl::Time now) {
  ReportAll();
  session_.SetReport(shell_.MakeReport());
  shell_.SendHeartbeat(session_.BeginHeartbeat(now));
}

void WorkerMachine::OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply,
                                absl::Time now) {
  if (reply.ok()) {
    CarryOut(session_.EndHeartbeat(*reply, now));
  } else {
    session_.HeartbeatFailed(now);
  }
}

void WorkerMachine::CarryOut(const Orders& orders) {
  if (!orders.known) {
    RegisterAgain();
    return;
  }
  progress_ = orders.progress;
  // A chief that another one has replaced does not tell the number.
  if (orders.trainers > 0) trainers_of_all_ = orders.trainers;
  FollowProgress();
  state_ = orders.state;
  for (const Generation& generation : orders.revoked) {
    for (auto& [id, trainer] : trainers_) trainer->leases().Revoke(generation);
  }
  for (const v1::Lease& lease : orders.extended) {
    const auto found = trainers_.find(TrainerId{lease.trainer()});
    if (found != trainers_.end()) found->second->leases().Extend(lease);
  }
  for (const v1::Lease& lease : orders.granted) {
    const auto found = trainers_.find(TrainerId{lease.trainer()});
    if (found != trainers_.end()) found->second->leases().Grant(lease);
  }
}

bool WorkerMachine::job_over() const {
  return state_ == v1::JOB_STATE_COMPLETED || state_ == v1::JOB_STATE_FAILED;
}

// ---- registering again ----

// The chief does not know this incarnation: it is a new chief, or it has given the worker up.
void WorkerMachine::RegisterAgain() {
  if (registering_) return;
  registering_ = true;
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(options_.name);
  request.set_incarnation(Raw(options_.incarnation));
  for (const auto& [id, trainer] : trainers_) request.add_trainers(Raw(id));
  shell_.SendRegistration(request);
}

void WorkerMachine::OnRegistered(const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
  registering_ = false;
  if (IsWorthRepeating(reply.status())) return;  // Registers again after the next heartbeat.
  known_ = reply.ok() && IsOfThisWork(*reply);
  session_.Hurry();
}

bool WorkerMachine::IsOfThisWork(const v1::RegisterWorkerReply& reply) const {
  return reply.trainers_size() == static_cast<int>(trainers_.size()) &&
         std::all_of(reply.trainers().begin(), reply.trainers().end(),
                     [this](uint64_t id) { return trainers_.contains(TrainerId{id}); }) &&
         reply.job().SerializeAsString() == job_;
}

}  // namespace capstan::worker
