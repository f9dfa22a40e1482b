#include "tests/simulation/sim/worker.h"

#include <algorithm>
#include <utility>

#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/shard.h"
#include "worker/machines/runners.h"

namespace capstan::sim {
namespace {

// As worker/shell/worker and worker/shell/registration have them.
constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kRegisterTimeout = absl::Seconds(3);
constexpr absl::Duration kRegisterPause = absl::Milliseconds(500);
constexpr absl::Duration kViewRetry = absl::Milliseconds(500);
constexpr absl::Duration kDrain = absl::Seconds(4);
constexpr double kStepSeconds = 0.4;

// Returns, in half of the cases, so much that only two lanes of the trainer work at a time.
uint64_t BytesOfTensors(Schedule& schedule) { return schedule.Chance(0.5) ? uint64_t{1} << 30 : 1; }

size_t MostWaitingOpens(Schedule& schedule) { return schedule.Chance(0.5) ? 1 : 32; }

}  // namespace

// ---- a trainer ----

SimTrainer::SimTrainer(Cast& cast, const Life& life, TrainerId id, const double& slowness,
                       const absl::Time& data_come, const Limits& limits,
                       std::function<void()> wake)
    : turns_(BytesOfTensors(cast.schedule()), worker::OrderOfTurns(cast.job().spec())),
      shared_{.clock = clock_,
              .turns = turns_,
              .waiting_opens = limits.waiting_opens,
              .read_ahead = limits.read_ahead},
      context_{cast, life, id, clock_, view_, busy_until_, slowness, data_come, std::move(wake)},
      leases_(id, clock_, [this](const v1::Lease& lease) {
        return std::make_unique<worker::LeaseRunner>(context_.cast.job().spec(), lease, shared_,
                                                     std::make_unique<LeaseCalls>(context_, lease));
      }) {}

void SimTrainer::OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  view_ = view;
  leases_.OnView(view, restarted);
}

double SimTrainer::StepSeconds() const { return kStepSeconds * context_.slowness; }

// ---- the process ----

WorkerProcess::WorkerProcess(Cast& cast, const Life& life, std::string name, bool false_words)
    : cast_(cast),
      life_(life),
      name_(std::move(name)),
      false_words_(false_words),
      waiting_opens_(MostWaitingOpens(cast.schedule())) {
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
  machine_.emplace(
      worker::WorkerMachineOptions{.name = name_, .incarnation = Incarnation{incarnation_}}, reply,
      *this);
  for (uint64_t id : reply.trainers()) {
    auto trainer = std::make_unique<SimTrainer>(cast_, life_, TrainerId{id}, slowness_, data_come_,
                                                SimTrainer::Limits{waiting_opens_, read_ahead_},
                                                [this] { TurnSoon(); });
    machine_->AddTrainer(TrainerId{id}, *trainer);
    trainers_[TrainerId{id}] = std::move(trainer);
  }
  if (draining_) Drain();
  WatchView();
  Turn();
}

void WorkerProcess::SendRegistration(const v1::RegisterWorkerRequest& request) {
  CallChief<v1::RegisterWorkerReply>(
      cast_, life_, kHeartbeatTimeout,
      [request](ChiefProcess& chief, const auto& answer) { answer(chief.RegisterWorker(request)); },
      [this](const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
        machine_->OnRegistered(reply);
        Turn();
      });
}

// The chief does not want this incarnation any more: another is registered.
void WorkerProcess::BeginAnew() {
  cast_.schedule().Note(name_, " is not wanted any more");
  if (draining_) return cast_.Exit(life_, "drained, unknown");
  ++watch_;
  machine_.reset();
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
      cast_, life_, /*shard=*/0,
      [this, watch](const v1::View& view) {
        if (watch != watch_) return;
        machine_->OnView(view);
        Turn();
      },
      retry);
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
  if (const std::optional<worker::WorkerEnd> end = machine_->Turn(Now())) {
    turn_at_ = absl::InfiniteFuture();
    if (*end == worker::WorkerEnd::kUnknown) return BeginAnew();
    return cast_.Exit(life_, "drained");
  }
  turn_at_ = machine_->NextTurn();
  if (turn_at_ == absl::InfiniteFuture()) return;
  turn_at_ = std::max(turn_at_, Now() + absl::Microseconds(10));
  cast_.network().After(life_, turn_at_ - Now(), [this, at = turn_at_] {
    if (turn_at_ == at) Turn();
  });
}

v1::WorkerReport WorkerProcess::MakeReport() {
  v1::WorkerReport report;
  if (data_come_ > Now() && cast_.lie() != Lie::kSilentStall) {
    report.set_stalled_seconds(absl::ToDoubleSeconds(Now() - stalled_since_));
    report.set_stalled_on("train.csv");
  }
  return report;
}

void WorkerProcess::SendHeartbeat(const v1::WorkerHeartbeatRequest& truth) {
  v1::WorkerHeartbeatRequest request = truth;
  if (false_words_) AddFalseWords(request);
  if (cast_.lie() == Lie::kNonfinite) {
    for (v1::LeaseReport& lease : *request.mutable_leases()) lease.set_nonfinite_loss(true);
  }
  for (const v1::LeaseReport& lease : request.leases()) {
    cast_.schedule().Tell("  ", name_, " tells of ", lease.ShortDebugString());
  }
  CallChief<v1::WorkerHeartbeatReply>(
      cast_, life_, kHeartbeatTimeout,
      [request](ChiefProcess& chief, const auto& answer) {
        answer(chief.WorkerHeartbeat(request));
      },
      [this, incarnation = incarnation_](const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
        if (incarnation != incarnation_) return;
        if (reply.ok()) {
          for (const v1::Lease& lease : reply->leases()) cast_.checks().OnLease(lease);
        }
        machine_->OnHeartbeat(reply, Now());
        Turn();
      });
}

// Of a lease of an earlier term, which no chief has granted: done, and full of bad records. And of
// a generation that would make those of all others old.
void WorkerProcess::AddFalseWords(v1::WorkerHeartbeatRequest& request) {
  const bool lanes = cast_.job().sync();
  const uint64_t turn = false_words_told_++;
  v1::LeaseReport report;
  report.set_timeline(machine_->view().timeline());
  report.set_trainer(Raw(trainers_.begin()->first));
  report.set_finished(turn % 2 == 0);
  report.set_bad_records(turn % 4 == 0 ? 1000 : 0);
  report.set_nonfinite_loss(turn % 8 == 3);
  report.mutable_generation()->set_count(turn);
  report.set_kind(lanes ? v1::LEASE_KIND_LANE : v1::LEASE_KIND_TASK);
  report.set_stream(
      StreamId::Task(0, static_cast<uint32_t>(turn % cast_.job().options().tasks)).value);
  *request.add_leases() = report;
  if (!lanes || machine_->view().owners().empty()) return;
  const uint32_t coordinator = machine_->view().owners(0);
  v1::OpenRoundRequest open;
  open.mutable_header()->set_wire_version(kWireVersion);
  open.mutable_header()->set_timeline(machine_->view().timeline());
  for (const v1::ShardInfo& shard : machine_->view().shards()) {
    if (shard.index() == coordinator)
      open.mutable_header()->set_target_incarnation(shard.incarnation());
  }
  open.mutable_generation()->set_term(~uint64_t{0});
  if (ShardProcess* shard = cast_.shard(coordinator)) shard->OpenRound(open, [](const auto&) {});
}

void WorkerProcess::Stall(absl::Duration length) {
  if (data_come_ > Now()) return;
  stalled_since_ = Now();
  data_come_ = Now() + length;
}

void WorkerProcess::Drain() {
  draining_ = true;
  if (!machine_) return cast_.Exit(life_, "drained before it had begun");
  machine_->Drain(Now() + kDrain);
  TurnSoon();
}

}  // namespace capstan::sim
