#include "worker/session/held_leases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"

namespace capstan::worker {
namespace {

// The task that is worked on, and a spare one.
constexpr size_t kTasks = 2;

}  // namespace

v1::LeaseReport UntouchedReport(const v1::Lease& lease, bool returned) {
  v1::LeaseReport report;
  *report.mutable_generation() = lease.generation();
  report.set_kind(lease.kind());
  report.set_timeline(lease.timeline());
  report.set_trainer(lease.trainer());
  report.set_lane(lease.lane());
  report.set_stream(StreamId::Task(lease.data_epoch(), lease.task().index()).value);
  report.set_batches_done(lease.first_batch());
  report.set_lane_tasks_known(lease.lane_tasks_size() > 0
                                  ? lease.lane_tasks(lease.lane_tasks_size() - 1).ordinal() + 1
                                  : 0);
  report.set_returned(returned);
  return report;
}

HeldLeases::HeldLeases(const HeldLeases& other, TrainerClock& clock, BeginWork begin, CopyWork copy)
    : trainer_(other.trainer_),
      clock_(clock),
      begin_(std::move(begin)),
      waiting_(other.waiting_),
      timeline_(other.timeline_),
      placed_(other.placed_),
      draining_(other.draining_),
      woken_at_(other.woken_at_) {
  for (const auto& [generation, held] : other.held_) {
    held_[generation] = {held.kind, held.timeline, copy(*held.work)};
  }
}

// A worker has memory for the records of one task of each trainer.
bool HeldLeases::ReadsTask() const {
  return std::any_of(held_.begin(), held_.end(), [](const auto& entry) {
    const LeaseWork& work = *entry.second.work;
    return entry.second.kind == v1::LEASE_KIND_TASK && !work.over() && !work.HasReadAll();
  });
}

void HeldLeases::Grant(const v1::Lease& lease) {
  if (lease.timeline() < timeline_) return;  // Void; the chief will revoke it.
  waiting_.push_back(lease);
  BeginWaiting();
}

bool HeldLeases::MayBegin(const v1::Lease& lease) const {
  if (!placed_ || draining_) return false;
  if (lease.timeline() != timeline_) return false;  // The view of its timeline is on its way.
  if (lease.kind() != v1::LEASE_KIND_TASK) return true;
  // Steps below start_clock count as over, and so nothing of a task before may be under way then.
  return !ReadsTask() && (lease.start_clock() <= clock_.clock() || clock_.open_steps() == 0);
}

void HeldLeases::BeginWaiting() {
  for (auto lease = waiting_.begin(); lease != waiting_.end();) {
    if (!MayBegin(*lease)) {
      ++lease;
      continue;
    }
    clock_.AdvanceTo(lease->start_clock());
    held_[GenerationFromProto(lease->generation())] = {lease->kind(), lease->timeline(),
                                                       begin_(*lease)};
    lease = waiting_.erase(lease);
  }
}

void HeldLeases::Extend(const v1::Lease& lease) {
  const Generation generation = GenerationFromProto(lease.generation());
  const auto found = held_.find(generation);
  if (found != held_.end()) found->second.work->Extend(lease);
  for (v1::Lease& waiting : waiting_) {
    if (GenerationFromProto(waiting.generation()) == generation) waiting = lease;
  }
}

void HeldLeases::Revoke(const Generation& generation) {
  std::erase_if(waiting_, [&](const v1::Lease& lease) {
    return GenerationFromProto(lease.generation()) == generation;
  });
  const auto found = held_.find(generation);
  if (found == held_.end()) return;
  found->second.work->Deliver(Revoked());
  held_.erase(found);
}

void HeldLeases::BeginDrain(absl::Time deadline) {
  draining_ = true;
  for (auto& [generation, held] : held_) held.work->Deliver(Drain{deadline});
}

void HeldLeases::ForgetBefore(uint64_t timeline) {
  std::erase_if(waiting_, [&](const v1::Lease& lease) { return lease.timeline() < timeline; });
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->second.timeline >= timeline) {
      ++held;
      continue;
    }
    held->second.work->Deliver(Revoked());
    held = held_.erase(held);
  }
  clock_ = TrainerClock();  // The new timeline repeats rounds, so clocks begin anew.
}

void HeldLeases::OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  timeline_ = view.timeline();
  placed_ = view.owners_size() > 0;
  for (auto& [generation, held] : held_) held.work->OnView(restarted);
  BeginWaiting();
}

absl::Time HeldLeases::NextWake() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [generation, held] : held_) {
    if (!held.work->over()) next = std::min(next, held.work->NextWake());
  }
  return next;
}

void HeldLeases::Wake(absl::Time now) {
  BeginWaiting();
  for (auto& [generation, held] : held_) {
    if (!held.work->over() && held.work->NextWake() <= now) held.work->Deliver(Tick());
  }
  WakeTasks();
}

// A task may wait for steps of another one. Nobody else tells it that these are over, and by then
// the other task may be over as well, or gone.
void HeldLeases::WakeTasks() {
  while (woken_at_ != clock_.steps_over()) {
    woken_at_ = clock_.steps_over();
    for (auto& [generation, held] : held_) {
      if (held.kind == v1::LEASE_KIND_TASK && !held.work->over()) held.work->Deliver(Tick());
    }
  }
}

bool HeldLeases::HasEnded() const {
  return (draining_ && !waiting_.empty()) ||
         std::any_of(held_.begin(), held_.end(),
                     [](const auto& entry) { return entry.second.work->over(); });
}

bool HeldLeases::HasNews() const {
  return std::any_of(held_.begin(), held_.end(),
                     [](const auto& entry) { return entry.second.work->HasNews(); });
}

void HeldLeases::ReportTo(SessionMachine& session, double step_seconds) {
  for (auto& [generation, held] : held_) session.Report(held.work->Report());
  for (const v1::Lease& lease : waiting_) session.Report(UntouchedReport(lease, draining_));
  if (draining_) waiting_.clear();
  std::erase_if(held_, [](const auto& entry) { return entry.second.work->over(); });
  BeginWaiting();
  size_t tasks = waiting_.size();
  bool other = false;
  for (const auto& [generation, held] : held_) {
    (held.kind == v1::LEASE_KIND_TASK) ? void(++tasks) : void(other = true);
  }
  session.SetWantsLease(trainer_, !draining_ && tasks < kTasks && !other);
  session.SetClock(trainer_, clock_.clock());
  session.SetStepSeconds(trainer_, step_seconds);
}

std::string HeldLeases::DebugString() const {
  std::string text = absl::StrCat("t", timeline_, placed_ ? " placed" : "",
                                  draining_ ? " draining" : "", " holds");
  for (const auto& [generation, held] : held_) {
    absl::StrAppend(&text, " g", generation.term, ".", generation.count);
  }
  for (const v1::Lease& lease : waiting_) {
    absl::StrAppend(&text, " waits {", lease.ShortDebugString(), "}");
  }
  return text;
}

}  // namespace capstan::worker
