#include "worker/member.h"

#include <algorithm>
#include <utility>

#include "capstan/consistency/closed_set.h"

namespace capstan::worker {
namespace {

// A task at work and a spare one.
constexpr size_t kTasks = 2;

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

Member::Member(const WorkerContext& worker, MemberId id, std::unique_ptr<Network> network,
               const ComputeOptions& compute)
    : id_(id),
      client_(worker.loop, worker.parameters,
              {.member = id, .dtype = worker.job.train().wire_dtype()}),
      compute_(std::move(network), compute, worker.loop),
      context_{.job = worker.job,
               .parameters = worker.parameters,
               .clock = worker.clock,
               .loop = worker.loop,
               .client = client_,
               .compute = compute_,
               .prefetcher = worker.prefetcher,
               .steps = worker.steps,
               .member_clock = clock_,
               .times = times_,
               .metrics = worker.metrics} {}

bool Member::HasTask() const {
  return std::any_of(runners_.begin(), runners_.end(), [](const auto& entry) {
    return entry.second->kind() == v1::LEASE_KIND_TASK && !entry.second->over();
  });
}

void Member::Grant(const v1::Lease& lease) {
  if (lease.timeline() < client_.view().timeline()) return;  // Void: the chief will say so.
  waiting_.push_back(lease);
  BeginWaiting();
}

bool Member::MayBegin(const v1::Lease& lease) const {
  if (client_.owners().empty() || draining_) return false;
  if (lease.timeline() != client_.view().timeline()) return false;  // The view is on its way.
  return lease.kind() != v1::LEASE_KIND_TASK || !HasTask();
}

void Member::BeginWaiting() {
  for (auto lease = waiting_.begin(); lease != waiting_.end();) {
    if (!MayBegin(*lease)) {
      ++lease;
      continue;
    }
    clock_.AdvanceTo(lease->start_clock());
    runners_[GenerationFromProto(lease->generation())] =
        std::make_unique<LeaseRunner>(context_, *lease);
    lease = waiting_.erase(lease);
  }
}

void Member::Extend(const v1::Lease& lease) {
  auto found = runners_.find(GenerationFromProto(lease.generation()));
  if (found != runners_.end()) found->second->Extend(lease);
  for (v1::Lease& waiting : waiting_) {
    if (GenerationFromProto(waiting.generation()) == GenerationFromProto(lease.generation())) {
      waiting = lease;
    }
  }
}

void Member::Revoke(const Generation& generation) {
  std::erase_if(waiting_, [&](const v1::Lease& lease) {
    return GenerationFromProto(lease.generation()) == generation;
  });
  auto found = runners_.find(generation);
  if (found == runners_.end()) return;
  found->second->Revoke();
  runners_.erase(found);
}

void Member::BeginDrain(absl::Time deadline) {
  draining_ = true;
  for (auto& [generation, runner] : runners_) runner->BeginDrain(deadline);
}

// First of all: what follows goes to the new timeline.
void Member::ForgetBefore(uint64_t timeline) {
  std::erase_if(waiting_, [&](const v1::Lease& lease) { return lease.timeline() < timeline; });
  for (auto runner = runners_.begin(); runner != runners_.end();) {
    if (runner->second->timeline() >= timeline) {
      ++runner;
      continue;
    }
    runner->second->Revoke();
    runner = runners_.erase(runner);
  }
  clock_ = MemberClock();  // Rounds come again.
}

void Member::OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  if (!client_.SetView(view)) return;
  for (auto& [generation, runner] : runners_) runner->OnView(restarted);
  BeginWaiting();
}

absl::Time Member::NextWake() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [generation, runner] : runners_) {
    if (!runner->over()) next = std::min(next, runner->NextWake());
  }
  return next;
}

void Member::Wake(absl::Time now) {
  for (auto& [generation, runner] : runners_) {
    if (!runner->over() && runner->NextWake() <= now) runner->Wake();
  }
}

bool Member::HasEnded() const {
  return (draining_ && !waiting_.empty()) ||
         std::any_of(runners_.begin(), runners_.end(),
                     [](const auto& entry) { return entry.second->over(); });
}

void Member::ReportTo(SessionMachine& session) {
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
  session.SetStepSeconds(id_, times_.BusySeconds());
}

}  // namespace capstan::worker
