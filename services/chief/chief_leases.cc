// ChiefMachine: members and their leases.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"
#include "chief/chief_machine.h"

namespace capstan::chief {
namespace {

// The one a member works on, and one to go on with at once.
constexpr size_t kLeasesPerMember = 2;

}  // namespace

void ChiefMachine::TakeReport(const Worker& worker, const v1::LeaseReport& report) {
  const std::vector<MemberId> members = worker.member_ids();
  if (report.timeline() != timeline()) return;  // Its updates have been thrown away.
  ReportOutcome outcome = work_.Report(members, report);
  if (!outcome.known) outcome = evaluations_.Report(members, report);
  if (!outcome.known && Adopts(members, report)) outcome = work_.Adopt(report);
  if (!outcome.known || ended()) return;
  if (report.nonfinite_loss() || !std::isfinite(report.loss_sum())) {
    Fail(v1::FAILURE_KIND_ERROR,
         absl::StrCat("the loss is not finite after ", progress_.examples(),
                      " examples, on worker ", worker.name, "; a lower learning rate may help"));
    return;
  }
  progress_.AddLoss(outcome.examples, outcome.loss_sum);
  if (report.returned() || outcome.failure) ++retries_;
  for (v1::StreamClose& close : outcome.closes) {
    if (!closes_streams_) continue;
    if (partial()) close_log_.Add(close);
    closes_.emplace_back(keeper_.Note(), std::move(close));
  }
  if (!outcome.failure) return;
  const TaskFailure& failure = *outcome.failure;
  if (failure.bad_data || failure.attempts >= options_.max_task_failures) {
    Fail(failure.bad_data ? v1::FAILURE_KIND_BAD_INPUT : v1::FAILURE_KIND_ERROR,
         failure.bad_data ? failure.error
                          : absl::StrCat(failure.error, " (failed ", failure.attempts, " times)"));
    return;
  }
  Log(LogEvent::Level::kWarning, "a task failed and is given to another",
      {{"worker", worker.name}, {"error", failure.error}});
}

bool ChiefMachine::Adopts(const std::vector<MemberId>& members,
                          const v1::LeaseReport& report) const {
  return state_ == v1::JOB_STATE_RUNNING && report.generation().term() < options_.term &&
         std::find(members.begin(), members.end(), MemberId{report.member()}) != members.end();
}

bool ChiefMachine::MayTrain() const {
  // An open round needs its lanes until the boundary is there.
  const bool closing_round = end_.step == EndStep::kBoundary && !boundary_.reached();
  return state_ == v1::JOB_STATE_RUNNING && (!end_.begun() || closing_round);
}

void ChiefMachine::GrantLeases(Worker& worker, absl::Time now) {
  if (state_ != v1::JOB_STATE_RUNNING || worker.draining || !takeover_.settled()) return;
  // What was begun before this chief may be held by one who has not told of it yet.
  const bool may_give_begun = takeover_.complete(now);
  if (MayTrain() && work_.has_lanes() && may_give_begun) DealLanes();
  TaskQueue* tasks = work_.tasks();
  for (Member& member : worker.members) {
    const auto held = [&] {
      return evaluations_.LeasesOf(member.id).size() +
             (tasks != nullptr ? tasks->LeasesOf(member.id).size() : 0);
    };
    // Lanes stand still while there is an evaluation, so any member will do.
    while (held() < kLeasesPerMember && (member.wants_lease || work_.has_lanes()) &&
           evaluations_.Grant(member.id, generations_)) {
    }
    if (tasks == nullptr || !MayTrain() || !member.wants_lease) continue;
    // A spare only while there is enough for those who have nothing.
    while (held() == 0 || (held() < kLeasesPerMember && tasks->todo() > MembersWithoutWork())) {
      if (!tasks->Grant(member.id, generations_, may_give_begun)) break;
      keeper_.Note();
    }
  }
}

size_t ChiefMachine::MembersWithoutWork() const {
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
  for (const Member& member : worker.members) {
    for (v1::Lease& lease : work_.LeasesOf(member.id)) leases.push_back(std::move(lease));
    for (const HeldLease& held : evaluations_.LeasesOf(member.id)) leases.push_back(held.lease);
    for (v1::Lease& lease : leases) {
      if (MemberId{lease.member()} == member.id) lease.set_start_clock(member.start_clock);
      lease.set_timeline(timeline());
    }
  }
  return leases;
}

void ChiefMachine::DealLanes() {
  // A straggler is more than twice as slow, so a round is shorter when another member computes its
  // lanes as well. Bit by bit the result is the same.
  std::vector<MemberId> all;
  std::vector<MemberId> quick;
  for (const Membership::Candidate& candidate : workers_.Eligible()) {
    all.push_back(candidate.id);
    if (!stragglers_.IsStraggler(candidate.worker->name)) quick.push_back(candidate.id);
  }
  work_.lanes()->Deal(quick.empty() ? all : quick, generations_);
}

void ChiefMachine::FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                             v1::WorkerHeartbeatReply& reply) {
  std::set<Generation> mentioned;
  std::set<Generation> needy;
  for (const v1::LeaseReport& report : request.leases()) {
    mentioned.insert(GenerationFromProto(report.generation()));
    if (work_.has_lanes() && work_.lanes()->NeedsTasks(report)) {
      needy.insert(GenerationFromProto(report.generation()));
    }
  }
  std::set<Generation> present;
  for (v1::Lease& lease : LeasesOf(worker)) {
    const Generation generation = GenerationFromProto(lease.generation());
    present.insert(generation);
    if (mentioned.contains(generation) && !needy.contains(generation)) continue;
    *reply.add_leases() = std::move(lease);
  }
  for (const Generation& generation : mentioned) {
    if (!present.contains(generation)) ToProto(generation, *reply.add_revoked());
  }
}

void ChiefMachine::ReleaseMembers(const std::vector<MemberId>& members) {
  for (MemberId member : members) {
    expirations_ += work_.LeasesOf(member).size() + evaluations_.LeasesOf(member).size();
    work_.Release(member);
    evaluations_.Release(member);
  }
}

}  // namespace capstan::chief
