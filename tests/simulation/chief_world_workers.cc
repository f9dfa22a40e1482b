// ChiefWorld: the workers. As worker/session/worker_machine and held_leases, whose state cannot be
// copied.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/consistency/generation.h"
#include "capstan/placement/view_epoch.h"
#include "tests/simulation/chief_world.h"
#include "worker/machines/runners.h"
#include "worker/session/held_leases.h"

namespace capstan::simulation {
namespace {

constexpr size_t kTasksHeld = 2;  // The task that is worked on, and a spare one.

}  // namespace

uint64_t ChiefWorld::IncarnationOf(size_t worker) const {
  return 1000 * (worker + 1) + static_cast<uint64_t>(workers_[worker].life);
}

bool ChiefWorld::MayBeat(size_t worker) const {
  const WorkerProcess& process = workers_[worker];
  return chief_ && process.session && process.mute_seconds == 0;
}

// ---- registration ----

void ChiefWorld::Register(size_t index) {
  WorkerProcess& process = workers_[index];
  if (!chief_ || process.mute_seconds > 0) return;
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(process.name);
  request.set_incarnation(IncarnationOf(index));
  request.set_former(process.former);
  const absl::StatusOr<v1::RegisterWorkerReply> reply =
      chief_->RegisterWorker(request, ChiefTime());
  Perform();
  if (!reply.ok()) return;  // It asks again in a second.
  process.trainer = TrainerId{reply->trainers(0)};
  process.session.emplace(worker::SessionOptions{.name = process.name,
                                                 .incarnation = Incarnation{IncarnationOf(index)},
                                                 .trainers = {process.trainer}});
  process.due = true;
  HearView(process);
}

// The chief does not know this incarnation: it is a new chief, or it has given the worker up.
void ChiefWorld::RegisterAgain(size_t worker) {
  const WorkerProcess& process = workers_[worker];
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(process.name);
  request.set_incarnation(IncarnationOf(worker));
  request.add_trainers(Raw(process.trainer));
  const absl::StatusOr<v1::RegisterWorkerReply> reply =
      chief_->RegisterWorker(request, ChiefTime());
  Perform();
  if (IsWorthRepeating(reply.status())) return;
  if (!reply.ok() || reply->trainers(0) != Raw(process.trainer)) return BeginAnew(worker);
  workers_[worker].due = true;
}

void ChiefWorld::BeginAnew(size_t worker) {
  const uint64_t former = IncarnationOf(worker);
  KillWorker(worker);
  WorkerProcess& process = workers_[worker];
  process.alive = true;
  process.former = former;
  ++process.life;
  Register(worker);
}

void ChiefWorld::KillWorker(size_t worker) {
  WorkerProcess& process = workers_[worker];
  for (const Held& held : process.held) {
    if (runners_[held.runner].alive) Leave(held.runner);
  }
  process.alive = false;
  process.due = false;
  process.former = 0;
  process.session.reset();
  process.held.clear();
  process.waiting.clear();
  process.epoch = {};
  process.timeline = 0;
  process.placed = false;
}

// ---- heartbeats ----

void ChiefWorld::Beat(size_t worker, bool answered) {
  WorkerProcess& process = workers_[worker];
  process.due = false;
  ReportAll(process);
  const v1::WorkerHeartbeatRequest request = process.session->BeginHeartbeat(now_);
  process.last = request;
  const v1::WorkerHeartbeatReply reply = chief_->WorkerHeartbeat(request, ChiefTime());
  Perform();
  if (reply.known()) {
    process.heard = now_;
    process.heard_term = Term();
  }
  for (const v1::Lease& lease : reply.leases()) CheckLease(worker, lease);
  for (const v1::Generation& revoked : reply.revoked()) {
    for (Held& held : process.held) {
      const bool same =
          GenerationFromProto(held.lease.generation()) == GenerationFromProto(revoked);
      held.taken_back = held.taken_back || same;
    }
  }
  if (!answered) return process.session->HeartbeatFailed(now_);
  Obey(worker, process.session->EndHeartbeat(reply, now_));
}

void ChiefWorld::RepeatBeat(size_t worker) {
  const v1::WorkerHeartbeatReply reply =
      chief_->WorkerHeartbeat(*workers_[worker].last, ChiefTime());
  Perform();
  for (const v1::Lease& lease : reply.leases()) CheckLease(worker, lease);
}

void ChiefWorld::ReportAll(WorkerProcess& process) {
  for (const Held& held : process.held) process.session->Report(ReportOf(held));
  std::erase_if(process.held, [this](const Held& held) { return !runners_[held.runner].alive; });
  BeginWaiting(process);
  for (const v1::Lease& lease : process.waiting) {
    process.session->Report(worker::UntouchedReport(lease, /*returned=*/false));
  }
  size_t tasks = process.waiting.size();
  bool other = false;
  for (const Held& held : process.held) {
    if (held.lease.kind() == v1::LEASE_KIND_TASK) {
      ++tasks;
    } else {
      other = true;
    }
  }
  process.session->SetWantsLease(process.trainer, tasks < kTasksHeld && !other);
}

// As worker/session/lease_lifecycle.
v1::LeaseReport ChiefWorld::ReportOf(const Held& held) const {
  const Runner& runner = runners_[held.runner];
  const worker::RunnerProgress progress = runner.machine->progress();
  v1::LeaseReport report;
  ToProto(runner.generation, *report.mutable_generation());
  report.set_kind(held.lease.kind());
  report.set_timeline(held.lease.timeline());
  report.set_trainer(held.lease.trainer());
  report.set_lane(held.lease.lane());
  report.set_batches_done(progress.batches_done);
  report.set_examples(progress.examples);
  report.set_finished(runner.ended == worker::Finished::Why::kDone);
  report.set_returned(runner.ended && !report.finished());
  if (progress.total_batches) report.set_total_batches(*progress.total_batches);
  const uint64_t batches = wish_.lengths[runner.work];
  const uint64_t examples = batches * (runner.work + 1);
  if (held.lease.kind() == v1::LEASE_KIND_TASK) {
    report.set_stream(StreamOf(runner.work).value);
    if (report.finished()) report.set_total_examples(examples);
    return report;
  }
  report.set_round(runner.open_round);
  report.set_lane_tasks_known(1);
  if ((report.finished() ? progress.batches_done : runner.cursor) >= batches) {
    v1::LaneTaskDone& done = *report.add_lane_tasks_done();
    done.set_batches(batches);
    done.set_examples(examples);
  }
  return report;
}

void ChiefWorld::Obey(size_t index, const worker::Orders& orders) {
  if (!orders.known) return RegisterAgain(index);
  WorkerProcess& process = workers_[index];
  for (const Generation& generation : orders.revoked) Revoke(process, generation);
  for (const v1::Lease& lease : orders.granted) {
    // Another one is void; the chief will revoke it.
    if (lease.timeline() >= process.timeline) process.waiting.push_back(lease);
  }
  HearView(process);
}

void ChiefWorld::Revoke(WorkerProcess& process, const Generation& generation) {
  std::erase_if(process.waiting, [&](const v1::Lease& lease) {
    return GenerationFromProto(lease.generation()) == generation;
  });
  std::erase_if(process.held, [&](const Held& held) {
    if (runners_[held.runner].generation != generation) return false;
    Feed(held.runner, worker::Revoked{});
    return true;
  });
}

// ---- views and leases ----

void ChiefWorld::HearView(WorkerProcess& process) {
  const v1::View& view = chief_->view();
  if (EpochOf(view) <= process.epoch) return BeginWaiting(process);
  // A chief that has just started does not know yet where the partitions are to be.
  if (view.owners().empty() && process.placed) return;
  if (view.timeline() > process.timeline) ForgetBefore(process, view.timeline());
  process.epoch = EpochOf(view);
  process.timeline = view.timeline();
  process.placed = view.owners_size() > 0;
  BeginWaiting(process);
}

void ChiefWorld::ForgetBefore(WorkerProcess& process, uint64_t timeline) {
  process.session->ForgetBefore(timeline);
  std::erase_if(process.waiting,
                [&](const v1::Lease& lease) { return lease.timeline() < timeline; });
  std::erase_if(process.held, [&](const Held& held) {
    if (held.lease.timeline() >= timeline) return false;
    Feed(held.runner, worker::Revoked{});
    return true;
  });
}

bool ChiefWorld::HasTask(const WorkerProcess& process) const {
  return std::any_of(process.held.begin(), process.held.end(), [this](const Held& held) {
    return held.lease.kind() == v1::LEASE_KIND_TASK && runners_[held.runner].alive;
  });
}

void ChiefWorld::BeginWaiting(WorkerProcess& process) {
  for (auto lease = process.waiting.begin(); lease != process.waiting.end();) {
    const bool is_task = lease->kind() == v1::LEASE_KIND_TASK;
    if (!process.placed || lease->timeline() != process.timeline || (is_task && HasTask(process))) {
      ++lease;
      continue;
    }
    process.held.push_back({Begin(*lease), *lease});
    lease = process.waiting.erase(lease);
  }
}

// Begins to work on the lease. Returns the index of its runner.
size_t ChiefWorld::Begin(const v1::Lease& lease) {
  std::vector<ShardIndex> shards;
  for (int i = 0; i < wish_.shards; ++i) shards.push_back(static_cast<ShardIndex>(i));
  Runner runner{.work = WorkOf(lease),
                .generation = SealedGenerationFromProto(lease.generation()),
                .machine = worker::NewRunner(plan_.spec, lease, std::move(shards)),
                .clock = worker::TrainerClock(lease.start_clock()),
                .start_clock = lease.start_clock(),
                .now = now_};
  runner.timeline = Timeline{lease.timeline()};
  const size_t index = runners_.size();
  runners_.push_back(std::move(runner));
  Feed(index, worker::Start{});
  return index;
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
  for (size_t i = 0; i < workers_.size(); ++i) {
    const WorkerProcess& other = workers_[i];
    const absl::Duration patience = absl::Seconds(plan_.spec.lease().worker_lease_seconds());
    const bool heard = other.heard_term == Term() && now_ - other.heard <= patience;
    if (i == worker || !heard) continue;
    for (const Held& held : other.held) {
      if (!runners_[held.runner].alive || held.lease.timeline() != lease.timeline()) continue;
      if (WorkOf(held.lease) != WorkOf(lease) || held.taken_back) continue;
      Violate(absl::StrCat("TaskStands: task ", WorkOf(lease), " is leased to ",
                           workers_[worker].name, ", and ", other.name, " has it"));
    }
  }
}

}  // namespace capstan::simulation
