// ChiefMachine: trainers and their leases.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "capstan/base/hash.h"
#include "capstan/consistency/generation.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

// The one a trainer works on, and one to go on with at once.
constexpr size_t kLeasesPerTrainer = 2;

constexpr uint64_t kManyBadRecords = uint64_t{1} << 40;  // More than any task has.

bool IsNonfinite(const v1::LeaseReport& report) {
  return report.nonfinite_loss() || !std::isfinite(report.loss_sum());
}

// Where the user's program fails is what is accused: whatever batch it is at, it fails there again.
WorkName PlaceOf(const v1::UserCodeError& error) {
  return {.number = HashText(absl::StrCat(error.type(), " ", error.place()))};
}

std::string UserCodeText(const std::string& worker, const v1::UserCodeError& error) {
  constexpr size_t kMostMessage = 500;
  constexpr size_t kMostTraceback = 1000;
  const std::string& all = error.traceback();
  const std::string end = all.substr(all.size() - std::min(all.size(), kMostTraceback));
  return absl::StrCat(error.place(), ": ", error.type(), ": ",
                      error.message().substr(0, kMostMessage), " (in the program of worker ",
                      worker, "; the end of its traceback: ",
                      absl::StrJoin(absl::StrSplit(end, '\n', absl::SkipWhitespace()), " | "), ")");
}

}  // namespace

void ChiefMachine::TakeReport(const Worker& worker, const v1::LeaseReport& said) {
  const std::vector<TrainerId> trainers = worker.trainer_ids();
  if (said.timeline() != timeline()) return;  // Its updates have been thrown away.
  const std::optional<v1::LeaseReport> doubted = Doubted(worker, said);
  const v1::LeaseReport& report = doubted ? *doubted : said;
  ReportResult result = work_.Report(trainers, report);
  if (!result.known) result = evaluations_.Report(trainers, report);
  if (!result.known && Adopts(trainers, said)) result = work_.Adopt(report);
  if (!result.known || ended()) return;
  if (!result.failure) progress_.AddLoss(result.examples, result.loss_sum);
  for (const TaskBadRecords& task : result.bad_records) bad_records_.Add(task);
  if (report.returned() || result.failure) ++retries_;
  for (v1::StreamClose& close : result.closes) {
    accusations_.Forget(result.work);
    if (!closes_streams_) continue;
    if (partial()) close_log_.Add(close);
    closes_.emplace_back(writer_.Note(), std::move(close));
  }
  CheckBadRecords();
  if (result.failure) OnFailure(worker, result, said);
}

// The report as it is taken where it would end the job by the word of one worker: its work is given
// to another first.
std::optional<v1::LeaseReport> ChiefMachine::Doubted(const Worker& worker,
                                                     const v1::LeaseReport& said) {
  if (IsNonfinite(said)) {
    v1::LeaseReport report = said;
    report.clear_finished();
    report.clear_lane_tasks_done();
    report.set_loss_sum(0);
    report.set_error(absl::StrCat("the loss is not finite after ", progress_.examples(),
                                  " examples, on worker ", worker.name,
                                  "; a lower learning rate may help"));
    return report;
  }
  const std::optional<WorkName> work =
      work_.NameOf(worker.trainer_ids(), GenerationFromProto(said.generation()));
  const uint64_t limit = plan_.spec.data().max_bad_records();
  const auto too_many = [&](uint64_t bad) {
    return bad > limit - std::min(limit, bad_records_.count());
  };
  if (!work || ended()) return std::nullopt;
  if (work->kind == v1::LEASE_KIND_TASK) {
    if (!said.finished() || !too_many(said.bad_records()) || Accuse(worker, *work)) {
      return std::nullopt;
    }
    v1::LeaseReport report = said;
    report.clear_finished();
    report.set_returned(true);
    return report;
  }
  uint64_t bad = 0;
  for (int i = 0; i < said.lane_tasks_done_size(); ++i) {
    const v1::LaneTaskDone& done = said.lane_tasks_done(i);
    if (done.ordinal() < work->part) continue;
    bad += std::min(done.bad_records(), kManyBadRecords);
    if (!too_many(bad)) continue;
    if (Accuse(worker, {work->kind, work->number, done.ordinal()})) return std::nullopt;
    v1::LeaseReport report = said;
    report.mutable_lane_tasks_done()->DeleteSubrange(i, said.lane_tasks_done_size() - i);
    report.clear_finished();
    report.set_returned(true);
    return report;
  }
  return std::nullopt;
}

// Takes a worker's word that this cannot be done. True: it stands.
bool ChiefMachine::Accuse(const Worker& worker, const WorkName& work) {
  const std::string voice = workers_.VoiceOf(worker);
  accusations_.Add(work, voice);
  const std::vector<Membership::Candidate> all = workers_.Eligible();
  const bool others = std::any_of(all.begin(), all.end(), [&](const auto& candidate) {
    return workers_.VoiceOf(*candidate.worker) != voice;
  });
  return accusations_.Stands(work, others);
}

// It has said that this cannot be done, and there is somebody who has not.
bool ChiefMachine::Avoids(const Worker& worker, const WorkName& work) const {
  if (accusations_.empty() || !accusations_.Has(work, workers_.VoiceOf(worker))) return false;
  const std::vector<Membership::Candidate> all = workers_.Eligible();
  return std::any_of(all.begin(), all.end(), [&](const auto& candidate) {
    return !accusations_.Has(work, workers_.VoiceOf(*candidate.worker));
  });
}

void ChiefMachine::OnFailure(const Worker& worker, const ReportResult& result,
                             const v1::LeaseReport& said) {
  const TaskFailure& failure = *result.failure;
  const bool nonfinite = IsNonfinite(said);
  const bool user_code = said.has_user_code();
  const bool certain = failure.bad_data || nonfinite || user_code;
  const bool stands = Accuse(worker, user_code ? PlaceOf(said.user_code()) : result.work);
  if (!stands || (!certain && failure.attempts < options_.max_task_failures)) {
    Log(LogEvent::Level::kWarning, "a task failed and is given to another",
        {{"worker", worker.name}, {"error", failure.error}});
    return;
  }
  const std::string reason =
      user_code ? UserCodeText(worker.name, said.user_code())
      : certain ? failure.error
                : absl::StrCat(failure.error, " (failed ", failure.attempts, " times)");
  const bool of_evaluation = result.work.kind == v1::LEASE_KIND_EVALUATION;
  if (of_evaluation && !nonfinite && !user_code) return GiveUpEvaluation(reason);
  Fail(failure.bad_data ? v1::FAILURE_KIND_BAD_INPUT : v1::FAILURE_KIND_ERROR, reason);
}

// Only a lease that an earlier chief has granted bears its seal.
bool ChiefMachine::Adopts(const std::vector<TrainerId>& trainers,
                          const v1::LeaseReport& report) const {
  const Generation generation = GenerationFromProto(report.generation());
  const uint64_t made = report.kind() == v1::LEASE_KIND_LANE
                            ? sealer_.OfLane(timeline(), report.lane(), generation)
                            : sealer_.OfTask(timeline(), {report.stream()}, generation);
  return MayTrain() && generation.term < options_.term &&
         std::find(trainers.begin(), trainers.end(), TrainerId{report.trainer()}) !=
             trainers.end() &&
         sealer_.IsRight(report.generation().seal(), made);
}

uint64_t ChiefMachine::SealOf(const v1::Lease& lease) const {
  const Generation generation = GenerationFromProto(lease.generation());
  if (lease.kind() == v1::LEASE_KIND_LANE) {
    return sealer_.OfLane(timeline(), lease.lane(), generation);
  }
  const StreamId stream = StreamId::Task(lease.data_epoch(), lease.task().index());
  return lease.kind() == v1::LEASE_KIND_TASK ? sealer_.OfTask(timeline(), stream, generation) : 0;
}

// Those of training: at the job's end, and before an evaluation at rest. An open round needs its
// lanes until the barrier is there.
bool ChiefMachine::LeasesTakenBack() const {
  if (!work_.has_lanes()) return end_.begun() || rest_.step != Rest::Step::kNone;
  return end_.begun() && (end_.step != EndStep::kBarrier || barrier_.reached());
}

bool ChiefMachine::MayTrain() const {
  return state_ == v1::JOB_STATE_RUNNING && !LeasesTakenBack();
}

void ChiefMachine::GrantLeases(Worker& worker, absl::Time now) {
  if (state_ != v1::JOB_STATE_RUNNING || worker.draining || worker.stuck) return;
  if (!takeover_.settled()) return;
  // What was begun before this chief may be held by one who has not told of it yet.
  const bool may_give_begun = takeover_.complete(now);
  if (MayTrain() && work_.has_lanes() && may_give_begun) AssignLanes();
  TaskQueue* tasks = work_.tasks();
  const auto avoid = [&](const WorkName& work) { return Avoids(worker, work); };
  for (Trainer& trainer : worker.trainers) {
    const auto held = [&] {
      return evaluations_.LeasesOf(trainer.id).size() +
             (tasks != nullptr ? tasks->LeasesOf(trainer.id).size() : 0);
    };
    // Lanes stand still while there is an evaluation, so any trainer will do.
    while (held() < kLeasesPerTrainer && (trainer.wants_lease || work_.has_lanes()) &&
           evaluations_.Grant(trainer.id, generations_, avoid)) {
    }
    if (tasks == nullptr || !MayTrain() || !trainer.wants_lease) continue;
    // A spare only while there is enough for those who have nothing.
    while (held() == 0 || (held() < kLeasesPerTrainer && tasks->todo() > TrainersWithoutWork())) {
      if (!tasks->Grant(trainer.id, generations_, may_give_begun, avoid)) break;
      writer_.Note();
    }
  }
}

size_t ChiefMachine::TrainersWithoutWork() const {
  const std::vector<Membership::Candidate> all = workers_.Eligible();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [this](const auto& candidate) {
    return !work_.Holds(candidate.id);
  }));
}

void ChiefMachine::ReturnUnmentioned(const v1::WorkerHeartbeatRequest& request,
                                     const Worker& worker) {
  std::set<Generation> mentioned;
  for (const v1::LeaseReport& report : request.leases()) {
    mentioned.insert(GenerationFromProto(report.generation()));
  }
  for (const v1::Lease& lease : LeasesOf(worker)) {
    if (mentioned.contains(GenerationFromProto(lease.generation()))) continue;
    v1::LeaseReport report;
    *report.mutable_generation() = lease.generation();
    report.set_timeline(timeline());
    report.set_returned(true);
    TakeReport(worker, report);
  }
}

std::vector<v1::Lease> ChiefMachine::LeasesOf(const Worker& worker) {
  std::vector<v1::Lease> leases;
  for (const Trainer& trainer : worker.trainers) {
    for (v1::Lease& lease : work_.LeasesOf(trainer.id)) leases.push_back(std::move(lease));
    for (const HeldLease& held : evaluations_.LeasesOf(trainer.id)) leases.push_back(held.lease);
    for (v1::Lease& lease : leases) {
      if (TrainerId{lease.trainer()} == trainer.id) lease.set_start_clock(trainer.start_clock);
      lease.set_timeline(timeline());
    }
  }
  for (v1::Lease& lease : leases) lease.mutable_generation()->set_seal(SealOf(lease));
  return leases;
}

void ChiefMachine::AssignLanes() {
  // A straggler is more than twice as slow, so a round is shorter when another trainer computes its
  // lanes as well. Bit by bit the result is the same.
  std::vector<TrainerId> all;
  std::vector<TrainerId> quick;
  std::map<TrainerId, const Worker*> workers;
  for (const Membership::Candidate& candidate : workers_.Eligible()) {
    all.push_back(candidate.id);
    if (!accusations_.empty()) workers[candidate.id] = candidate.worker;
    if (!stragglers_.IsStraggler(candidate.worker->name)) quick.push_back(candidate.id);
  }
  const auto avoids = [&](TrainerId trainer, const WorkName& work) {
    return Avoids(*workers.at(trainer), work);
  };
  // Whoever has not been asked is, also if it is slow.
  const auto in_place = [&](const WorkName& work, TrainerId trainer) -> std::optional<TrainerId> {
    if (!avoids(trainer, work)) return std::nullopt;
    const auto other = std::find_if(all.begin(), all.end(),
                                    [&](TrainerId candidate) { return !avoids(candidate, work); });
    return other == all.end() ? std::nullopt : std::make_optional(*other);
  };
  LaneTable::InPlace unless_accused;
  if (!accusations_.empty()) unless_accused = in_place;
  work_.lanes()->Assign(quick.empty() ? all : quick, generations_, unless_accused);
}

void ChiefMachine::FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                             v1::WorkerHeartbeatReply& reply) {
  std::set<Generation> mentioned;
  std::set<Generation> needy;
  for (const v1::LeaseReport& report : request.leases()) {
    mentioned.insert(GenerationFromProto(report.generation()));
    if (work_.has_lanes() && work_.lanes()->NeedsTasks(worker.trainer_ids(), report)) {
      needy.insert(GenerationFromProto(report.generation()));
    }
  }
  std::set<Generation> present;
  for (v1::Lease& lease : LeasesOf(worker)) {
    const Generation generation = GenerationFromProto(lease.generation());
    present.insert(generation);
    if (mentioned.contains(generation) && !needy.contains(generation)) continue;
    if (lease.kind() == v1::LEASE_KIND_LANE) work_.lanes()->NameTasks(lease);
    *reply.add_leases() = std::move(lease);
  }
  for (const Generation& generation : mentioned) {
    if (!present.contains(generation)) ToProto(generation, *reply.add_revoked());
  }
}

void ChiefMachine::ReleaseTrainers(const std::vector<TrainerId>& trainers) {
  for (TrainerId trainer : trainers) {
    expirations_ += work_.LeasesOf(trainer).size() + evaluations_.LeasesOf(trainer).size();
    work_.Release(trainer);
    evaluations_.Release(trainer);
  }
}

}  // namespace capstan::chief
