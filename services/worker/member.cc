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
  report.set_stream(StreamId::Task(lease.data_epoch(), lease.task().index()).value);
  report.set_batches_done(lease.first_batch());
  report.set_returned(returned);
  return report;
}

}  // namespace

Member::Member(const WorkerContext& worker, MemberId id, std::unique_ptr<Network> network,
               const ComputeOptions& compute)
    : id_(id),
      worker_(worker),
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
  if (lease.kind() == v1::LEASE_KIND_TASK && (HasTask() || draining_)) {
    spare_.push_back(lease);
    return;
  }
  Run(lease);
}

void Member::Run(const v1::Lease& lease) {
  clock_.AdvanceTo(lease.start_clock());
  runners_[GenerationFromProto(lease.generation())] =
      std::make_unique<LeaseRunner>(context_, lease);
}

void Member::Extend(const v1::Lease& lease) {
  auto found = runners_.find(GenerationFromProto(lease.generation()));
  if (found != runners_.end()) found->second->Extend(lease);
}

void Member::Revoke(const Generation& generation) {
  std::erase_if(spare_, [&](const v1::Lease& lease) {
    return GenerationFromProto(lease.generation()) == generation;
  });
  auto found = runners_.find(generation);
  if (found == runners_.end()) return;
  found->second->Revoke();
  runners_.erase(found);
}

void Member::RevokeAll() {
  spare_.clear();
  runners_.clear();
}

void Member::BeginDrain(absl::Time deadline) {
  draining_ = true;
  for (auto& [generation, runner] : runners_) runner->BeginDrain(deadline);
}

void Member::OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  if (!client_.SetView(view)) return;
  for (auto& [generation, runner] : runners_) runner->OnView(restarted);
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
  return (draining_ && !spare_.empty()) ||
         std::any_of(runners_.begin(), runners_.end(),
                     [](const auto& entry) { return entry.second->over(); });
}

void Member::ReportTo(SessionMachine& session) {
  for (auto& [generation, runner] : runners_) session.Report(runner->Report());
  for (const v1::Lease& lease : spare_) session.Report(UntouchedReport(lease, draining_));
  if (draining_) spare_.clear();
  std::erase_if(runners_, [](const auto& entry) { return entry.second->over(); });
  if (!spare_.empty() && !HasTask()) {
    const v1::Lease next = std::move(spare_.front());
    spare_.pop_front();
    Run(next);
  }
  size_t tasks = spare_.size();
  bool other = false;
  for (const auto& [generation, runner] : runners_) {
    (runner->kind() == v1::LEASE_KIND_TASK) ? void(++tasks) : void(other = true);
  }
  session.SetWantsLease(id_, !draining_ && tasks < kTasks && !other);
  session.SetClock(id_, clock_.clock());
  session.SetStepSeconds(id_, times_.BusySeconds());
}

}  // namespace capstan::worker
