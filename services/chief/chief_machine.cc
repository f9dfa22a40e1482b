#include "chief/chief_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"

namespace capstan::chief {
namespace {

// The loss is shown as a mean over about so many batches.
constexpr uint64_t kLossBatches = 50;

absl::Status CheckWireVersion(uint32_t version) {
  if (version == kWireVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the peer speaks wire version ", version, ", this chief ", kWireVersion));
}

MembershipOptions MembershipOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.term = options.term,
          .threads = spec.train().compute_threads(),
          .lease = absl::Seconds(spec.lease().worker_lease_seconds()),
          .max_workers = options.max_workers};
}

}  // namespace

ChiefMachine::ChiefMachine(ChiefOptions options, JobPlan plan, absl::Time now)
    : options_(options),
      plan_(std::move(plan)),
      generations_(options.term),
      shards_(options.shards),
      workers_(MembershipOf(options, plan_.spec)),
      work_(plan_),
      evaluations_(plan_),
      progress_({.loss_window = kLossBatches * plan_.spec.train().batch_size()}, now),
      stragglers_({.after = options.straggler_after, .probation = options.straggler_probation}),
      early_stop_(plan_.spec.train().early_stop()),
      views_(options.term, plan_.spec),
      closes_streams_(UsesStreams(plan_.spec)) {
  actions_.push_back(PublishView{views_.current()});
}

absl::StatusOr<v1::RegisterShardReply> ChiefMachine::RegisterShard(
    const v1::RegisterShardRequest& request, absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  CAPSTAN_ASSIGN_OR_RETURN(const ShardTable::Arrival arrival, shards_.Register(request, now));
  const std::string name = absl::StrCat("shard ", request.index());
  if (arrival == ShardTable::Arrival::kReplaced && generations_.any_given() && !ended()) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat(name, " has been started anew; the parameters it held are lost"));
    RefreshView(now);
    return absl::FailedPreconditionError(reason_);
  }
  if (arrival != ShardTable::Arrival::kSame) {
    Log(LogEvent::Level::kInfo, "shard registered",
        {{"shard", absl::StrCat(request.index())}, {"address", request.address()}});
  }
  Advance(now);
  v1::RegisterShardReply reply;
  *reply.mutable_job() = plan_.spec;
  return reply;
}

absl::StatusOr<v1::RegisterWorkerReply> ChiefMachine::RegisterWorker(
    const v1::RegisterWorkerRequest& request, absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  CAPSTAN_ASSIGN_OR_RETURN(const Membership::Registration registration,
                           workers_.Register(request, now));
  ReleaseMembers(registration.replaced);
  end_.draining.erase(request.name());
  if (registration.is_new) {
    Log(LogEvent::Level::kInfo, "worker registered",
        {{"worker", request.name()}, {"replaces", registration.replaced.empty() ? "no" : "yes"}});
  }
  if (const WorkTotals totals = work_.totals();
      workers_.live().size() > plan_.train.size() && !warned_of_few_tasks_) {
    warned_of_few_tasks_ = true;
    Log(LogEvent::Level::kWarning, "fewer tasks than workers: some will have nothing to do",
        {{"tasks", absl::StrCat(plan_.train.size())},
         {"of all epochs", absl::StrCat(totals.total)}});
  }
  Advance(now);
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = plan_.spec;
  for (const Member& member : registration.worker->members) reply.add_members(Raw(member.id));
  return reply;
}

v1::ShardHeartbeatReply ChiefMachine::ShardHeartbeat(const v1::ShardHeartbeatRequest& request,
                                                     absl::Time now) {
  v1::ShardHeartbeatReply reply;
  reply.set_examples(progress_.examples());
  Shard* shard = shards_.Find(request.index(), Incarnation{request.incarnation()});
  if (shard == nullptr) return reply;
  reply.set_known(true);
  ShardTable::Hear(*shard, request, now);
  if (shard->draining && generations_.any_given() && !ended()) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat("shard ", request.index(), " is leaving, with parameters of this job"));
    RefreshView(now);
  }
  return reply;
}

v1::WorkerHeartbeatReply ChiefMachine::WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                                       absl::Time now) {
  v1::WorkerHeartbeatReply reply;
  Worker* worker = workers_.Find(request.name(), Incarnation{request.incarnation()});
  if (worker != nullptr) {
    workers_.Hear(*worker, request, now);
    for (const v1::LeaseReport& report : request.leases()) TakeReport(*worker, report);
    if (worker->draining) ReturnUnmentioned(request, *worker);
    const bool holds_work =
        std::any_of(request.leases().begin(), request.leases().end(), [](const auto& report) {
          return report.kind() != v1::LEASE_KIND_EVALUATION && !report.finished() &&
                 !report.returned() && report.error().empty();
        });
    if (!holds_work) end_.draining.erase(worker->name);
    Advance(now);
    GrantLeases(*worker);
    RefreshView(now);
    FillReply(request, *worker, reply);
    reply.set_known(true);
  }
  reply.set_state(state_);
  reply.set_examples(progress_.examples());
  return reply;
}

void ChiefMachine::StopJob(std::string_view reason, absl::Time now) {
  if (ended() || end_.begun()) return;
  const std::string why =
      absl::StrCat("stopped: ", reason.empty() ? std::string("on request") : std::string(reason));
  if (state_ == v1::JOB_STATE_PENDING) {
    Fail(v1::FAILURE_KIND_ERROR, absl::StrCat(why, ", before it had begun"));
    RefreshView(now);
    return;
  }
  BeginEnd(why);
  Advance(now);
}

void ChiefMachine::OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now) {
  const std::optional<ShardCalls::Answer> answer = calls_.OnReply(call, std::move(reply), now);
  if (answer && answer->purpose == Purpose::kHold) {
    boundary_.OnHeld(std::get<v1::HoldRoundsReply>(answer->reply), ShardIndexes(),
                     options_.call_deadline, calls_);
  }
  if (answer && answer->purpose == Purpose::kClose) closer_.OnClosed(answer->shard);
  if (answer && answer->purpose == Purpose::kSave) {
    const auto& saved = std::get<v1::SavePartitionsReply>(answer->reply);
    end_.files.insert(end_.files.end(), saved.files().begin(), saved.files().end());
  }
  boundary_.OnCommitted(calls_);
  Advance(now);
}

void ChiefMachine::Tick(absl::Time now) {
  for (const Worker& worker : workers_.TakeSilent(now)) {
    ReleaseMembers(worker.member_ids());
    end_.draining.erase(worker.name);
    if (worker.draining) continue;
    Log(LogEvent::Level::kWarning, "worker lost: its leases go to others",
        {{"worker", worker.name}, {"silent for", absl::FormatDuration(now - worker.heard)}});
  }
  std::vector<std::pair<std::string, double>> step_seconds;
  for (const auto& [name, worker] : workers_.live()) {
    if (worker.step_seconds() > 0) step_seconds.emplace_back(name, worker.step_seconds());
  }
  for (const std::string& name : stragglers_.Update(step_seconds, now)) {
    Log(LogEvent::Level::kWarning, "straggler: more than twice the median step time",
        {{"worker", name}});
  }
  CheckSilentShards(now);
  CheckLimits();
  Advance(now);
  if (state_ == v1::JOB_STATE_RUNNING && progress_.TakeCurveDue(now)) AddCurvePoint({}, now);
}

std::vector<Action> ChiefMachine::TakeActions() { return std::exchange(actions_, {}); }

void ChiefMachine::RefreshView(absl::Time now) {
  const uint64_t slowest = workers_.SlowestClock(now);
  for (auto& [name, worker] : workers_.live()) {
    for (Member& member : worker.members) {
      const bool trains = work_.Holds(member.id);
      if (trains && !member.training) member.start_clock = std::max(member.clock, slowest);
      member.training = trains;
    }
  }
  if (views_.Update(state_, shards_, workers_)) actions_.push_back(PublishView{views_.current()});
}

std::vector<uint32_t> ChiefMachine::ShardIndexes() const {
  std::vector<uint32_t> indexes;
  for (const auto& [index, shard] : shards_.shards()) indexes.push_back(index);
  return indexes;
}

absl::Duration ChiefMachine::worker_lease() const {
  return absl::Seconds(plan_.spec.lease().worker_lease_seconds());
}

void ChiefMachine::Log(LogEvent::Level level, std::string message,
                       std::vector<std::pair<std::string, std::string>> fields) {
  actions_.push_back(LogEvent{level, std::move(message), std::move(fields)});
}

}  // namespace capstan::chief
