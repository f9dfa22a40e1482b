#include "chief/duties/grant_duty.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"

namespace capstan::chief {
namespace {

// One lease to work on, and one to continue with at once.
constexpr size_t kLeasesPerTrainer = 2;

}  // namespace

void GrantDuty::Grant(Worker& worker, absl::Time now) {
  if (!job_->running() || worker.draining || worker.stuck) return;
  // Work that an earlier chief has leased may be held by a worker that this chief has not heard of
  // yet.
  const bool may_give_begun = job_->takeover.complete(now);
  if (job_->MayTrain() && job_->training.work.has_lanes() && may_give_begun) AssignLanes();
  TaskQueue* tasks = job_->training.work.tasks();
  const auto avoid = [&](const WorkName& work) { return Avoids(worker, work); };
  for (Trainer& trainer : worker.trainers) {
    const auto held = [&] {
      return job_->training.evaluations.LeasesOf(trainer.id).size() +
             (tasks != nullptr ? tasks->LeasesOf(trainer.id).size() : 0);
    };
    // Lanes stand still during an evaluation, so any trainer can take part.
    while (held() < kLeasesPerTrainer && (trainer.wants_lease || job_->training.work.has_lanes()) &&
           job_->training.evaluations.Grant(trainer.id, generations_, avoid)) {
    }
    if (tasks == nullptr || !job_->MayTrain() || !trainer.wants_lease) continue;
    // A trainer gets a second task only if there are enough for the trainers that have none.
    while (held() == 0 || (held() < kLeasesPerTrainer && tasks->todo() > TrainersWithoutWork())) {
      if (!tasks->Grant(trainer.id, generations_, may_give_begun, avoid)) break;
      job_->writer.Note();
    }
  }
}

// Returns how many trainers that may work hold no lease. Trainers of resting workers may hold
// leases, and are not counted among the holders.
size_t GrantDuty::TrainersWithoutWork() const {
  const Membership& workers = job_->training.workers;
  size_t holders = job_->training.work.tasks()->holders();
  for (const std::string& name : workers.resting()) {
    for (const Trainer& trainer : workers.live().at(name).trainers) {
      if (job_->training.work.Holds(trainer.id)) --holders;
    }
  }
  return workers.eligible_trainers() - std::min(workers.eligible_trainers(), holders);
}

std::array<uint64_t, 3> GrantDuty::LaneFacts() const {
  return {job_->training.workers.eligible_changes(), job_->training.stragglers.changes(),
          job_->training.work.changes().count()};
}

void GrantDuty::AssignLanes() {
  const bool accused = !job_->training.accusations.empty();
  if (!accused && assigned_ == LaneFacts()) return;
  // A straggler is more than twice as slow, so a round is shorter if another trainer computes its
  // lanes in addition to its own. The result is bit-equal.
  std::vector<TrainerId> all;
  std::vector<TrainerId> quick;
  std::map<TrainerId, const Worker*> workers;
  for (const Membership::Candidate& candidate : job_->training.workers.Eligible()) {
    all.push_back(candidate.id);
    if (accused) workers[candidate.id] = candidate.worker;
    if (!job_->training.stragglers.IsStraggler(candidate.worker->name))
      quick.push_back(candidate.id);
  }
  const auto avoids = [&](TrainerId trainer, const WorkName& work) {
    return Avoids(*workers.at(trainer), work);
  };
  // A trainer that has not accused the work yet gets it, even if it is a straggler.
  const auto in_place = [&](const WorkName& work, TrainerId trainer) -> std::optional<TrainerId> {
    if (!avoids(trainer, work)) return std::nullopt;
    const auto other = std::find_if(all.begin(), all.end(),
                                    [&](TrainerId candidate) { return !avoids(candidate, work); });
    return other == all.end() ? std::nullopt : std::make_optional(*other);
  };
  LaneTable::InPlace unless_accused;
  if (accused) unless_accused = in_place;
  job_->training.work.lanes()->Assign(quick.empty() ? all : quick, generations_, unless_accused);
  assigned_.reset();
  if (!accused) assigned_ = LaneFacts();
}

// Returns true if the worker has said that `work` cannot be done, and there is another worker that
// has not said so.
bool GrantDuty::Avoids(const Worker& worker, const WorkName& work) const {
  if (job_->training.accusations.empty() ||
      !job_->training.accusations.Has(work, job_->training.workers.VoiceOf(worker)))
    return false;
  const std::vector<Membership::Candidate> all = job_->training.workers.Eligible();
  return std::any_of(all.begin(), all.end(), [&](const auto& candidate) {
    return !job_->training.accusations.Has(work, job_->training.workers.VoiceOf(*candidate.worker));
  });
}

std::vector<v1::Lease> GrantDuty::LeasesOf(const Worker& worker) {
  std::vector<v1::Lease> leases;
  for (const Trainer& trainer : worker.trainers) {
    for (v1::Lease& lease : job_->training.work.LeasesOf(trainer.id))
      leases.push_back(std::move(lease));
    for (const HeldLease& held : job_->training.evaluations.LeasesOf(trainer.id))
      leases.push_back(held.lease);
    for (v1::Lease& lease : leases) {
      if (TrainerId{lease.trainer()} == trainer.id) lease.set_start_clock(trainer.start_clock);
      lease.set_timeline(job_->placement.timeline());
    }
  }
  return leases;
}

uint64_t GrantDuty::SealOf(const v1::Lease& lease) const {
  SealedLease sealed{.trainer = TrainerId{lease.trainer()},
                     .generation = GenerationFromProto(lease.generation())};
  if (lease.kind() == v1::LEASE_KIND_LANE) {
    sealed.lane = lease.lane();
  } else if (lease.kind() == v1::LEASE_KIND_TASK) {
    sealed.stream = StreamId::Task(lease.data_epoch(), lease.task().index());
  } else {
    return 0;  // An evaluation changes nothing.
  }
  return job_->SealOf(sealed);
}

std::vector<v1::LeaseReport> GrantDuty::Unmentioned(const v1::WorkerHeartbeatRequest& request,
                                                    const Worker& worker) {
  if (!worker.draining) return {};
  std::set<Generation> mentioned;
  for (const v1::LeaseReport& report : request.leases()) {
    mentioned.insert(GenerationFromProto(report.generation()));
  }
  std::vector<v1::LeaseReport> returned;
  for (const v1::Lease& lease : LeasesOf(worker)) {
    if (mentioned.contains(GenerationFromProto(lease.generation()))) continue;
    v1::LeaseReport& report = returned.emplace_back();
    *report.mutable_generation() = lease.generation();
    report.set_timeline(job_->placement.timeline());
    report.set_returned(true);
  }
  return returned;
}

void GrantDuty::FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                          v1::WorkerHeartbeatReply& reply) {
  std::set<Generation> mentioned;
  std::set<Generation> needy;
  for (const v1::LeaseReport& report : request.leases()) {
    mentioned.insert(GenerationFromProto(report.generation()));
    if (job_->training.work.has_lanes() &&
        job_->training.work.lanes()->NeedsTasks(worker.trainer_ids(), report)) {
      needy.insert(GenerationFromProto(report.generation()));
    }
  }
  std::set<Generation> present;
  for (v1::Lease& lease : LeasesOf(worker)) {
    const Generation generation = GenerationFromProto(lease.generation());
    present.insert(generation);
    if (mentioned.contains(generation) && !needy.contains(generation)) continue;
    if (lease.kind() == v1::LEASE_KIND_LANE) job_->training.work.lanes()->NameTasks(lease);
    lease.mutable_generation()->set_seal(SealOf(lease));
    *reply.add_leases() = std::move(lease);
  }
  for (const Generation& generation : mentioned) {
    if (!present.contains(generation)) ToProto(generation, *reply.add_revoked());
  }
  reply.set_known(true);
}

void GrantDuty::Hear(const v1::WorkerHeartbeatRequest& request, const Worker& worker) {
  if (worker.stuck) Release(worker.trainer_ids());
  SeeDraining(request, worker);
}

void GrantDuty::SeeDraining(const v1::WorkerHeartbeatRequest& request, const Worker& worker) {
  const auto& leases = request.leases();
  const bool holds_work = std::any_of(leases.begin(), leases.end(), [](const auto& report) {
    return report.kind() != v1::LEASE_KIND_EVALUATION && !report.finished() && !report.returned() &&
           report.error().empty();
  });
  if (!holds_work) {
    job_->training.end.draining.erase(worker.name);
  } else if (job_->training.LeasesTakenBack() && !worker.stuck) {
    job_->training.end.draining.insert(worker.name);
  }
}

void GrantDuty::ReleaseSilent(absl::Time now) {
  for (const Worker& worker : job_->training.workers.TakeSilent(now)) {
    Release(worker.trainer_ids());
    job_->outbox.Warn(absl::StrCat("the data of ", worker.name), "");
    job_->training.end.draining.erase(worker.name);
    if (worker.draining) continue;
    job_->outbox.Log(
        LogEvent::Level::kWarning, "worker lost: its leases go to others",
        {{"worker", worker.name}, {"silent for", absl::FormatDuration(now - worker.heard)}});
  }
}

void GrantDuty::Release(const std::vector<TrainerId>& trainers) {
  for (TrainerId trainer : trainers) {
    expirations_ += job_->training.work.LeasesOf(trainer).size() +
                    job_->training.evaluations.LeasesOf(trainer).size();
    job_->training.work.Release(trainer);
    job_->training.evaluations.Release(trainer);
  }
}

}  // namespace capstan::chief
