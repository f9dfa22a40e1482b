// ChiefWorld: the workers' registrations, heartbeats and deaths, and the runners of their leases.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "capstan/consistency/generation.h"
#include "tests/simulation/chief_world.h"
#include "tests/simulation/chief_world_worker.h"
#include "worker/machines/runners.h"

namespace capstan::simulation {

uint64_t ChiefWorld::IncarnationOf(size_t worker) const {
  return 1000 * (worker + 1) + static_cast<uint64_t>(workers_[worker]->facts.life);
}

bool ChiefWorld::MayBeat(size_t worker) const {
  return chief_ && workers_[worker]->registered() && workers_[worker]->facts.mute_seconds == 0;
}

// Returns whether the worker holds a lease that has begun.
bool ChiefWorld::Works(size_t worker) const {
  return std::any_of(holders_.begin(), holders_.end(),
                     [worker](const auto& lease) { return lease.second == worker; });
}

// ---- registration ----

void ChiefWorld::Register(size_t index) {
  Worker& worker = *workers_[index];
  if (!chief_ || worker.facts.mute_seconds > 0) return;
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(worker.facts.name);
  request.set_incarnation(IncarnationOf(index));
  request.set_former(worker.facts.former);
  const absl::StatusOr<v1::RegisterWorkerReply> reply =
      chief_->RegisterWorker(request, ChiefTime());
  Perform();
  if (!reply.ok()) return;  // It asks again in a second.
  worker.Begin(*reply, IncarnationOf(index));
  worker.facts.due = true;
  worker.OnView(chief_->view());
}

void ChiefWorld::RegisterAgain(size_t index, const v1::RegisterWorkerRequest& request) {
  const absl::StatusOr<v1::RegisterWorkerReply> reply =
      chief_->RegisterWorker(request, ChiefTime());
  Perform();
  if (!workers_[index]->OnRegistered(reply)) return BeginAnew(index);
  workers_[index]->facts.due = reply.ok();
}

void ChiefWorld::BeginAnew(size_t index) {
  const uint64_t former = IncarnationOf(index);
  KillWorker(index);
  WorkerFacts& facts = workers_[index]->facts;
  facts.alive = true;
  facts.former = former;
  ++facts.life;
  Register(index);
}

void ChiefWorld::KillWorker(size_t index) {
  for (const auto& [runner, holder] : holders_) {
    if (holder == index && runners_[runner].alive) Leave(runner);
  }
  workers_[index]->End();
}

// ---- heartbeats ----

void ChiefWorld::Beat(size_t index, bool answered) {
  Worker& worker = *workers_[index];
  worker.facts.due = false;
  worker.facts.last = worker.NextHeartbeat();
  const v1::WorkerHeartbeatReply reply = chief_->WorkerHeartbeat(*worker.facts.last, ChiefTime());
  Perform();
  if (reply.known()) {
    worker.facts.heard = now_;
    worker.facts.heard_term = Term();
  }
  for (const v1::Lease& lease : reply.leases()) CheckLease(index, lease);
  for (const v1::Generation& revoked : reply.revoked()) {
    TakeBack(index, GenerationFromProto(revoked));
  }
  if (!answered) return worker.OnHeartbeat(absl::UnavailableError("the answer is lost"));
  worker.OnHeartbeat(reply);
  const std::optional<v1::RegisterWorkerRequest> again = worker.TakeRegistration();
  if (again) return RegisterAgain(index, *again);
  worker.OnView(chief_->view());
}

void ChiefWorld::RepeatBeat(size_t index) {
  const v1::WorkerHeartbeatReply reply =
      chief_->WorkerHeartbeat(*workers_[index]->facts.last, ChiefTime());
  Perform();
  for (const v1::Lease& lease : reply.leases()) CheckLease(index, lease);
}

void ChiefWorld::TakeBack(size_t worker, const Generation& generation) {
  for (const auto& [runner, holder] : holders_) {
    if (holder != worker || runners_[runner].generation != generation) continue;
    runners_.Edit(runner).lease->taken_back = true;
  }
}

// ---- leases ----

// Begins to work on the lease. Feed() stands for worker/session/lease_runner, which cannot be
// copied: the turns that a trainer's leases share keep functions that call it back.
std::unique_ptr<worker::LeaseWork> ChiefWorld::Begin(size_t holder, const v1::Lease& lease) {
  std::vector<ShardIndex> shards;
  for (int i = 0; i < wish_.shards; ++i) shards.push_back(static_cast<ShardIndex>(i));
  const size_t work = WorkOf(lease);
  const uint64_t batches = wish_.lengths[work];
  Runner runner{.work = work,
                .generation = SealedGenerationFromProto(lease.generation()),
                .clock = worker::TrainerClock(lease.start_clock()),
                .start_clock = lease.start_clock(),
                .now = now_,
                .timeline = Timeline{lease.timeline()}};
  runner.lease.emplace(lease, OneTaskRead(batches, batches * (work + 1)),
                       worker::NewRunner(plan_.spec, lease, std::move(shards)));
  const size_t index = runners_.size();
  runners_.push_back(std::move(runner));
  auto begun = std::make_unique<WorldLease>(*this, index, holder);
  begun->Deliver(worker::Start());
  return begun;
}

size_t ChiefWorld::WorkOf(const v1::Lease& lease) const {
  return lease.kind() == v1::LEASE_KIND_LANE ? lease.lane() : lease.task().index();
}

// GenerationOnce: no generation is given out twice. TaskStands: a task is leased to one worker at a
// time, as long as the chief that has leased it hears of that worker.
void ChiefWorld::CheckLease(size_t worker, const v1::Lease& lease) {
  const Generation generation = GenerationFromProto(lease.generation());
  const std::string what = absl::StrCat(lease.kind(), " ", WorkOf(lease), " to ", lease.trainer(),
                                        " in ", lease.timeline());
  if (leased_.try_emplace(generation, what).first->second != what) {
    Violate("GenerationOnce: a generation is given out twice");
  }
  if (lease.kind() != v1::LEASE_KIND_TASK) return;
  const absl::Duration patience = absl::Seconds(plan_.spec.lease().worker_lease_seconds());
  for (const auto& [index, holder] : holders_) {
    const Runner& runner = runners_[index];
    if (!runner.alive || holder == worker || runner.lease->taken_back) continue;
    const WorkerFacts& other = workers_[holder]->facts;
    const bool heard = other.heard_term == Term() && now_ - other.heard <= patience;
    if (!heard || Raw(runner.timeline) != lease.timeline()) continue;
    if (runner.work != WorkOf(lease)) continue;
    Violate(absl::StrCat("TaskStands: task ", WorkOf(lease), " is leased to ",
                         workers_[worker]->facts.name, ", and ", other.name, " has it"));
  }
}

}  // namespace capstan::simulation
