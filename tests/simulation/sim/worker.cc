#include "tests/simulation/sim/worker.h"

#include <algorithm>
#include <utility>

#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/shard.h"

namespace capstan::sim {
namespace {

// As worker/shell/worker, worker/shell/trainer and worker/shell/registration have them.
constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kRegisterTimeout = absl::Seconds(3);
constexpr absl::Duration kRegisterPause = absl::Milliseconds(500);
constexpr absl::Duration kViewRetry = absl::Milliseconds(500);
constexpr absl::Duration kDrain = absl::Seconds(4);
constexpr double kStepSeconds = 0.4;

bool IsWorthRepeating(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

// ---- a trainer ----

SimTrainer::SimTrainer(Cast& cast, const Life& life, TrainerId id, const v1::View& view,
                       const double& slowness, const absl::Time& data_come,
                       std::function<void()> wake)
    : context_{cast, life, id, clock_, view, busy_until_, slowness, data_come, std::move(wake)},
      leases_(id, clock_, [this](const v1::Lease& lease) {
        return std::make_unique<Runner>(context_, lease);
      }) {}

void SimTrainer::ReportTo(worker::SessionMachine& session) {
  leases_.ReportTo(session, kStepSeconds * context_.slowness);
}

// ---- the process ----

WorkerProcess::WorkerProcess(Cast& cast, const Life& life, std::string name, bool false_words)
    : cast_(cast), life_(life), name_(std::move(name)), false_words_(false_words) {
  incarnation_ = cast_.NewIncarnation();
  Register();
}

void WorkerProcess::Register() {
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(name_);
  request.set_incarnation(incarnation_);
  request.set_former(former_);
  CallChief<v1::RegisterWorkerReply>(
      cast_, life_, kRegisterTimeout,
      [request](ChiefProcess& chief, const auto& answer) { answer(chief.RegisterWorker(request)); },
      [this](const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
        if (reply.ok()) return OnRegistered(*reply);
        if (!IsWorthRepeating(reply.status())) {
          return cast_.Exit(life_, reply.status().message().data());
        }
        cast_.network().After(life_, kRegisterPause, [this] { Register(); });
      });
}

void WorkerProcess::OnRegistered(const v1::RegisterWorkerReply& reply) {
  trainers_.clear();
  view_.Clear();
  worker::SessionOptions options{
      .name = name_,
      .incarnation = Incarnation{incarnation_},
      .heartbeat = absl::Seconds(reply.job().lease().heartbeat_seconds())};
  for (uint64_t id : reply.trainers()) {
    options.trainers.push_back(TrainerId{id});
    trainers_[TrainerId{id}] = std::make_unique<SimTrainer>(
        cast_, life_, TrainerId{id}, view_, slowness_, data_come_, [this] { TurnSoon(); });
  }
  session_.emplace(options);
  if (draining_) Drain();
  WatchView();
  Turn();
}

void WorkerProcess::RegisterAgain() {
  if (registering_) return;
  registering_ = true;
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(name_);
  request.set_incarnation(incarnation_);
  for (const auto& [id, trainer] : trainers_) request.add_trainers(Raw(id));
  CallChief<v1::RegisterWorkerReply>(
      cast_, life_, kHeartbeatTimeout,
      [request](ChiefProcess& chief, const auto& answer) { answer(chief.RegisterWorker(request)); },
      [this](const absl::StatusOr<v1::RegisterWorkerReply>& reply) { OnRegisteredAgain(reply); });
}

void WorkerProcess::OnRegisteredAgain(const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
  registering_ = false;
  const absl::Status& status = reply.status();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return;  // At the next beat.
  const bool known = reply.ok() && reply->trainers_size() == static_cast<int>(trainers_.size()) &&
                     std::all_of(reply->trainers().begin(), reply->trainers().end(),
                                 [this](uint64_t id) { return trainers_.contains(TrainerId{id}); });
  if (!known) return BeginAnew();
  session_->Hurry();
  Turn();
}

// The chief does not want this incarnation any more: another is registered.
void WorkerProcess::BeginAnew() {
  cast_.schedule().Note(name_, " is not wanted any more");
  if (draining_) return cast_.Exit(life_, "drained, unknown");
  ++watch_;
  trainers_.clear();
  former_ = std::exchange(incarnation_, cast_.NewIncarnation());
  turn_at_ = absl::InfiniteFuture();
  Register();
}

// ---- the view ----

void WorkerProcess::WatchView() {
  const uint64_t watch = ++watch_;
  const auto retry = [this, watch] {
    if (watch != watch_) return;
    cast_.network().After(life_, kViewRetry, [this, watch] {
      if (watch == watch_) WatchView();
    });
  };
  Watch(
      cast_, life_,
      [this, watch](const v1::View& view) {
        if (watch == watch_) OnView(view);
      },
      retry);
}

void WorkerProcess::OnView(const v1::View& view) {
  if (EpochOf(view) <= EpochOf(view_)) return;
  cast_.schedule().Tell("  ", name_, " hears of view ", view.epoch().term(), ".", view.epoch().n());
  std::vector<ShardIndex> restarted;
  for (const v1::ShardInfo& shard : view.shards()) {
    for (const v1::ShardInfo& before : view_.shards()) {
      if (before.index() == shard.index() && before.incarnation() != shard.incarnation()) {
        restarted.push_back(static_cast<ShardIndex>(shard.index()));
      }
    }
  }
  // A chief that begins anew does not know yet where the partitions are to be.
  if (view.owners().empty() && !view_.owners().empty()) return;
  if (view.timeline() > view_.timeline()) {
    session_->ForgetBefore(view.timeline());
    for (auto& [id, trainer] : trainers_) trainer->leases().ForgetBefore(view.timeline());
  }
  view_ = view;
  for (auto& [id, trainer] : trainers_) trainer->leases().OnView(view, restarted);
  Turn();
}

// ---- the loop ----

void WorkerProcess::TurnSoon() {
  if (turn_at_ <= Now()) return;
  turn_at_ = Now();
  cast_.network().After(life_, absl::ZeroDuration(), [this, at = turn_at_] {
    if (turn_at_ == at) Turn();
  });
}

void WorkerProcess::Turn() {
  turn_at_ = absl::InfinitePast();  // What happens in this turn asks for no other.
  const absl::Time now = Now();
  for (auto& [id, trainer] : trainers_) trainer->leases().Wake(now);
  if (std::any_of(trainers_.begin(), trainers_.end(),
                  [](const auto& entry) { return entry.second->leases().HasEnded(); })) {
    ReportAll();
  }
  if (now >= session_->NextHeartbeat()) SendHeartbeat();
  if (draining_ && (session_->Settled() || now >= drain_deadline_)) {
    turn_at_ = absl::InfiniteFuture();
    return cast_.Exit(life_, "drained");
  }
  turn_at_ = std::min(session_->NextHeartbeat(), drain_deadline_);
  for (const auto& [id, trainer] : trainers_)
    turn_at_ = std::min(turn_at_, trainer->leases().NextWake());
  if (turn_at_ == absl::InfiniteFuture()) return;
  turn_at_ = std::max(turn_at_, now + absl::Microseconds(10));
  cast_.network().After(life_, turn_at_ - now, [this, at = turn_at_] {
    if (turn_at_ == at) Turn();
  });
}

void WorkerProcess::ReportAll() {
  for (auto& [id, trainer] : trainers_) trainer->ReportTo(*session_);
}

void WorkerProcess::SendHeartbeat() {
  ReportAll();
  v1::WorkerReport report;
  if (data_come_ > Now() && cast_.lie() != Lie::kSilentStall) {
    report.set_stalled_seconds(absl::ToDoubleSeconds(Now() - stalled_since_));
    report.set_stalled_on("train.csv");
  }
  session_->SetReport(report);
  v1::WorkerHeartbeatRequest request = session_->BeginHeartbeat(Now());
  if (false_words_) AddFalseWords(request);
  for (const v1::LeaseReport& lease : request.leases()) {
    cast_.schedule().Tell("  ", name_, " tells of ", lease.ShortDebugString());
  }
  CallChief<v1::WorkerHeartbeatReply>(
      cast_, life_, kHeartbeatTimeout,
      [request](ChiefProcess& chief, const auto& answer) {
        answer(chief.WorkerHeartbeat(request));
      },
      [this, incarnation = incarnation_](const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
        if (incarnation == incarnation_) OnHeartbeat(reply);
      });
}

// Of a lease of an earlier term, which no chief has granted: done, and full of bad records. And of
// a generation that would make those of all others old.
void WorkerProcess::AddFalseWords(v1::WorkerHeartbeatRequest& request) {
  const bool lanes = cast_.job().sync();
  const uint64_t turn = false_words_told_++;
  v1::LeaseReport report;
  report.set_timeline(view_.timeline());
  report.set_trainer(Raw(trainers_.begin()->first));
  report.set_finished(turn % 2 == 0);
  report.set_bad_records(turn % 4 == 0 ? 1000 : 0);
  report.set_nonfinite_loss(turn % 8 == 3);
  report.mutable_generation()->set_count(turn);
  report.set_kind(lanes ? v1::LEASE_KIND_LANE : v1::LEASE_KIND_TASK);
  report.set_stream(
      StreamId::Task(0, static_cast<uint32_t>(turn % cast_.job().options().tasks)).value);
  *request.add_leases() = report;
  if (!lanes || view_.owners().empty()) return;
  const uint32_t coordinator = view_.owners(0);
  v1::OpenRoundRequest open;
  open.mutable_header()->set_wire_version(kWireVersion);
  open.mutable_header()->set_timeline(view_.timeline());
  for (const v1::ShardInfo& shard : view_.shards()) {
    if (shard.index() == coordinator)
      open.mutable_header()->set_target_incarnation(shard.incarnation());
  }
  open.mutable_generation()->set_term(~uint64_t{0});
  if (ShardProcess* shard = cast_.shard(coordinator)) shard->OpenRound(open, [](const auto&) {});
}

void WorkerProcess::OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
  if (!reply.ok()) {
    session_->HeartbeatFailed(Now());
    return Turn();
  }
  for (const v1::Lease& lease : reply->leases()) cast_.checks().OnLease(lease);
  CarryOut(session_->EndHeartbeat(*reply, Now()));
}

void WorkerProcess::CarryOut(const worker::Orders& orders) {
  if (!orders.known) {
    RegisterAgain();
    return Turn();
  }
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
  Turn();
}

void WorkerProcess::Stall(absl::Duration length) {
  if (data_come_ > Now()) return;
  stalled_since_ = Now();
  data_come_ = Now() + length;
}

void WorkerProcess::Drain() {
  draining_ = true;
  drain_deadline_ = Now() + kDrain;
  if (!session_) return cast_.Exit(life_, "drained before it had begun");
  for (auto& [id, trainer] : trainers_)
    trainer->leases().BeginDrain(drain_deadline_ - absl::Seconds(1));
  session_->Drain();
  TurnSoon();
}

}  // namespace capstan::sim
