#include "tests/simulation/sim/worker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "capstan/base/wire_version.h"
#include "capstan/consistency/closed_set.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"

namespace capstan::sim {
namespace {

// As worker/worker, worker/member and worker/registration have them.
constexpr size_t kTasks = 2;
constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kRegisterTimeout = absl::Seconds(3);
constexpr absl::Duration kRegisterPause = absl::Milliseconds(500);
constexpr absl::Duration kViewRetry = absl::Milliseconds(500);
constexpr absl::Duration kDrain = absl::Seconds(4);

auto OrderOf(const v1::ViewEpoch& epoch) { return std::make_tuple(epoch.term(), epoch.n()); }

v1::LeaseReport UntouchedReport(const v1::Lease& lease, bool returned) {
  v1::LeaseReport report;
  *report.mutable_generation() = lease.generation();
  report.set_kind(lease.kind());
  report.set_timeline(lease.timeline());
  report.set_member(lease.member());
  report.set_lane(lease.lane());
  report.set_stream(StreamId::Task(lease.data_epoch(), lease.task().index()).value);
  report.set_batches_done(lease.first_batch());
  report.set_lane_tasks_known(lease.lane_tasks_size() > 0
                                  ? lease.lane_tasks(lease.lane_tasks_size() - 1).ordinal() + 1
                                  : 0);
  report.set_returned(returned);
  return report;
}

}  // namespace

// ---- a member ----

SimMember::SimMember(Cast& cast, const Life& life, MemberId id, const v1::View& view,
                     const double& slowness, std::function<void()> wake)
    : id_(id), view_(view), context_{cast, life,        id,       clock_,
                                     view, busy_until_, slowness, std::move(wake)} {}

bool SimMember::HasTask() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const auto& entry) {
    return entry.second->kind() == v1::LEASE_KIND_TASK && !entry.second->over();
  });
}

void SimMember::Grant(const v1::Lease& lease) {
  waiting_.push_back(lease);
  BeginWaiting();
}

bool SimMember::MayBegin(const v1::Lease& lease) const {
  if (view_.owners().empty() || draining_) return false;
  return lease.kind() != v1::LEASE_KIND_TASK || !HasTask();
}

void SimMember::BeginWaiting() {
  for (auto lease = waiting_.begin(); lease != waiting_.end();) {
    if (!MayBegin(*lease)) {
      ++lease;
      continue;
    }
    clock_.AdvanceTo(lease->start_clock());
    std::unique_ptr<Runner>& runner = runners_[GenerationFromProto(lease->generation())];
    runner = std::make_unique<Runner>(context_, *lease);
    lease = waiting_.erase(lease);
    runner->Begin();
  }
}

void SimMember::Extend(const v1::Lease& lease) {
  const Generation generation = GenerationFromProto(lease.generation());
  const auto found = runners_.find(generation);
  if (found != runners_.end()) found->second->Extend(lease);
  for (v1::Lease& waiting : waiting_) {
    if (GenerationFromProto(waiting.generation()) == generation) waiting = lease;
  }
}

void SimMember::Revoke(const Generation& generation) {
  std::erase_if(waiting_, [&](const v1::Lease& lease) {
    return GenerationFromProto(lease.generation()) == generation;
  });
  const auto found = runners_.find(generation);
  if (found == runners_.end()) return;
  found->second->Revoke();
  runners_.erase(found);
}

void SimMember::BeginDrain(absl::Time deadline) {
  draining_ = true;
  for (auto& [generation, runner] : runners_) runner->BeginDrain(deadline);
}

void SimMember::OnView(const std::vector<ShardIndex>& restarted) {
  for (auto& [generation, runner] : runners_) runner->OnView(restarted);
  BeginWaiting();
}

absl::Time SimMember::NextWake() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [generation, runner] : runners_) {
    if (!runner->over()) next = std::min(next, runner->NextWake());
  }
  return next;
}

void SimMember::Wake(absl::Time now) {
  for (auto& [generation, runner] : runners_) {
    if (!runner->over() && runner->NextWake() <= now) runner->Wake();
  }
}

bool SimMember::HasEnded() const {
  return (draining_ && !waiting_.empty()) ||
         std::any_of(runners_.begin(), runners_.end(),
                     [](const auto& entry) { return entry.second->over(); });
}

void SimMember::ReportTo(worker::SessionMachine& session) {
  for (auto& [generation, runner] : runners_) session.Report(runner->Report());
  for (const v1::Lease& lease : waiting_) session.Report(UntouchedReport(lease, draining_));
  if (draining_) waiting_.clear();
  std::erase_if(runners_, [](const auto& entry) { return entry.second->over(); });
  BeginWaiting();
  size_t tasks = waiting_.size();
  bool other = false;
  for (const auto& [generation, runner] : runners_) {
    (runner->kind() == v1::LEASE_KIND_TASK) ? void(++tasks) : void(other = true);
  }
  session.SetWantsLease(id_, !draining_ && tasks < kTasks && !other);
  session.SetClock(id_, clock_.clock());
  session.SetStepSeconds(id_, 0.4 * context_.slowness);
}

// ---- the process ----

WorkerProcess::WorkerProcess(Cast& cast, const Life& life, std::string name)
    : cast_(cast), life_(life), name_(std::move(name)) {
  incarnation_ = cast_.NewIncarnation();
  Register();
}

void WorkerProcess::Register() {
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(name_);
  request.set_incarnation(incarnation_);
  cast_.network().Call<v1::RegisterWorkerReply>(
      life_, cast_.chief_host(), kRegisterTimeout,
      [&cast = cast_, request](Done<v1::RegisterWorkerReply> answer, absl::Time) {
        if (ChiefProcess* chief = cast.chief()) answer(chief->RegisterWorker(request));
      },
      [this](const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
        if (reply.ok()) return OnRegistered(*reply);
        const bool again = absl::IsUnavailable(reply.status()) ||
                           absl::IsDeadlineExceeded(reply.status()) ||
                           absl::IsResourceExhausted(reply.status());
        if (!again) return cast_.Exit(life_, reply.status().message().data());
        cast_.network().After(life_, kRegisterPause, [this] { Register(); });
      });
}

void WorkerProcess::OnRegistered(const v1::RegisterWorkerReply& reply) {
  members_.clear();
  view_.Clear();
  worker::SessionOptions options{
      .name = name_,
      .incarnation = Incarnation{incarnation_},
      .heartbeat = absl::Seconds(reply.job().lease().heartbeat_seconds())};
  for (uint64_t id : reply.members()) {
    options.members.push_back(MemberId{id});
    members_[MemberId{id}] = std::make_unique<SimMember>(cast_, life_, MemberId{id}, view_,
                                                         slowness_, [this] { TurnSoon(); });
  }
  session_.emplace(options);
  if (draining_) Drain();
  WatchView();
  Turn();
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
  if (OrderOf(view.epoch()) <= OrderOf(view_.epoch())) return;
  std::vector<ShardIndex> restarted;
  for (const v1::ShardInfo& shard : view.shards()) {
    for (const v1::ShardInfo& before : view_.shards()) {
      if (before.index() == shard.index() && before.incarnation() != shard.incarnation()) {
        restarted.push_back(static_cast<ShardIndex>(shard.index()));
      }
    }
  }
  view_ = view;
  for (auto& [id, member] : members_) member->OnView(restarted);
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
  for (auto& [id, member] : members_) member->Wake(now);
  if (std::any_of(members_.begin(), members_.end(),
                  [](const auto& entry) { return entry.second->HasEnded(); })) {
    ReportAll();
  }
  if (now >= session_->NextHeartbeat()) SendHeartbeat();
  if (draining_ && (session_->Settled() || now >= drain_deadline_)) {
    turn_at_ = absl::InfiniteFuture();
    return cast_.Exit(life_, "drained");
  }
  turn_at_ = std::min(session_->NextHeartbeat(), drain_deadline_);
  for (const auto& [id, member] : members_) turn_at_ = std::min(turn_at_, member->NextWake());
  if (turn_at_ == absl::InfiniteFuture()) return;
  turn_at_ = std::max(turn_at_, now + absl::Microseconds(10));
  cast_.network().After(life_, turn_at_ - now, [this, at = turn_at_] {
    if (turn_at_ == at) Turn();
  });
}

void WorkerProcess::ReportAll() {
  for (auto& [id, member] : members_) member->ReportTo(*session_);
}

void WorkerProcess::SendHeartbeat() {
  ReportAll();
  const v1::WorkerHeartbeatRequest request = session_->BeginHeartbeat(Now());
  cast_.network().Call<v1::WorkerHeartbeatReply>(
      life_, cast_.chief_host(), kHeartbeatTimeout,
      [&cast = cast_, request](Done<v1::WorkerHeartbeatReply> answer, absl::Time) {
        if (ChiefProcess* chief = cast.chief()) answer(chief->WorkerHeartbeat(request));
      },
      [this, incarnation = incarnation_](const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
        if (incarnation == incarnation_) OnHeartbeat(reply);
      });
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
    cast_.schedule().Note(name_, " is not known any more");
    if (draining_) return cast_.Exit(life_, "drained, unknown");
    ++watch_;
    members_.clear();
    incarnation_ = cast_.NewIncarnation();
    turn_at_ = absl::InfiniteFuture();
    return Register();
  }
  for (const Generation& generation : orders.revoked) {
    for (auto& [id, member] : members_) member->Revoke(generation);
  }
  for (const v1::Lease& lease : orders.extended) {
    const auto found = members_.find(MemberId{lease.member()});
    if (found != members_.end()) found->second->Extend(lease);
  }
  for (const v1::Lease& lease : orders.granted) {
    const auto found = members_.find(MemberId{lease.member()});
    if (found != members_.end()) found->second->Grant(lease);
  }
  Turn();
}

void WorkerProcess::Drain() {
  draining_ = true;
  drain_deadline_ = Now() + kDrain;
  if (!session_) return cast_.Exit(life_, "drained before it had begun");
  for (auto& [id, member] : members_) member->BeginDrain(drain_deadline_ - absl::Seconds(1));
  session_->Drain();
  TurnSoon();
}

}  // namespace capstan::sim
