#include "worker/session/session_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "capstan/consistency/generation.h"

namespace capstan::worker {
namespace {

bool Ends(const v1::LeaseReport& report) {
  return report.finished() || report.returned() || !report.error().empty();
}

bool IsOver(v1::JobState state) {
  return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED;
}

// The report as long as its lease goes on.
v1::LeaseReport UnderWay(const v1::LeaseReport& report) {
  v1::LeaseReport told;
  *told.mutable_generation() = report.generation();
  told.set_kind(report.kind());
  told.set_timeline(report.timeline());
  told.set_trainer(report.trainer());
  told.set_batches_done(report.batches_done());
  told.set_examples(report.examples());
  return told;
}

}  // namespace

SessionMachine::SessionMachine(SessionOptions options)
    : options_(std::move(options)), patience_(options_.patience) {
  for (TrainerId trainer : options_.trainers) trainers_[trainer] = Trainer();
}

void SessionMachine::SetClock(TrainerId trainer, uint64_t clock) {
  trainers_[trainer].clock = clock;
}

void SessionMachine::SetStepSeconds(TrainerId trainer, double seconds) {
  trainers_[trainer].step_seconds = seconds;
}

void SessionMachine::SetWantsLease(TrainerId trainer, bool wants) {
  Trainer& entry = trainers_[trainer];
  if (wants && !entry.wants_lease) urgent_ = true;
  entry.wants_lease = wants;
}

void SessionMachine::Report(const v1::LeaseReport& report) {
  auto lease = leases_.find(GenerationFromProto(report.generation()));
  if (lease == leases_.end() || lease->second.ended) return;
  lease->second.report = report;
  if (!Ends(report)) return;
  lease->second.ended = true;
  urgent_ = true;
}

void SessionMachine::SetTrained(uint64_t examples) { trained_ = examples; }

void SessionMachine::Drain() {
  draining_ = true;
  urgent_ = true;
}

void SessionMachine::ForgetBefore(uint64_t timeline) {
  std::erase_if(
      leases_, [timeline](const auto& lease) { return lease.second.report.timeline() < timeline; });
}

absl::Time SessionMachine::NextHeartbeat() const {
  if (under_way_) return absl::InfiniteFuture();
  if (urgent_) return last_sent_ + options_.soonest;
  const bool tells = tell_every_ > 0 && trained_ - trained_told_ >= tell_every_;
  const absl::Duration gap = tells ? std::min(tell_gap_, options_.heartbeat) : options_.heartbeat;
  return std::min(last_sent_ + gap, wish_repeats_);
}

v1::WorkerHeartbeatRequest SessionMachine::BeginHeartbeat(absl::Time now) {
  under_way_ = true;
  urgent_ = false;
  wish_repeats_ = absl::InfiniteFuture();
  last_sent_ = now;
  trained_told_ = trained_;
  v1::WorkerHeartbeatRequest request;
  request.set_incarnation(Raw(options_.incarnation));
  request.set_name(options_.name);
  request.set_draining(draining_);
  leave_sent_ = draining_;
  *request.mutable_report() = report_;
  for (const auto& [id, trainer] : trainers_) {
    v1::TrainerReport& report = *request.add_trainers();
    report.set_trainer(Raw(id));
    report.set_clock(trainer.clock);
    report.set_step_seconds(trainer.step_seconds);
    report.set_wants_lease(trainer.wants_lease && !draining_);
  }
  size_t results = 0;  // Bytes.
  for (auto& [generation, lease] : leases_) {
    const size_t result = lease.ended ? lease.report.evaluation().ByteSizeLong() : 0;
    const bool fits = result == 0 || results == 0 || results + result <= options_.most_result_bytes;
    lease.sent_end = lease.ended && fits;
    *request.add_leases() = fits ? lease.report : UnderWay(lease.report);
    if (fits) results += result;
    urgent_ = urgent_ || !fits;  // It is in the next one.
  }
  return request;
}

Orders SessionMachine::EndHeartbeat(const v1::WorkerHeartbeatReply& reply, absl::Time now) {
  under_way_ = false;
  Orders orders{.known = reply.known(),
                .state = reply.state(),
                .progress = {reply.examples(), reply.examples_seal()},
                .trainers = reply.trainers()};
  if (!reply.known()) {
    for (auto& [generation, lease] : leases_) lease.sent_end = false;
    return orders;
  }
  leave_told_ = leave_told_ || leave_sent_;
  over_ = IsOver(reply.state());
  std::erase_if(leases_, [](const auto& entry) { return entry.second.sent_end; });
  for (const v1::Generation& generation : reply.revoked()) {
    const Generation revoked = GenerationFromProto(generation);
    if (leases_.erase(revoked) > 0) orders.revoked.push_back(revoked);
  }
  for (const v1::Lease& lease : reply.leases()) {
    auto [held, is_new] = leases_.try_emplace(GenerationFromProto(lease.generation()));
    (is_new ? orders.granted : orders.extended).push_back(lease);
    if (!is_new) continue;
    held->second.report.set_kind(lease.kind());
    *held->second.report.mutable_generation() = lease.generation();
    held->second.report.set_timeline(lease.timeline());
    held->second.report.set_trainer(lease.trainer());
    trainers_[TrainerId{lease.trainer()}].wants_lease = false;
  }
  const bool wish_open = std::any_of(trainers_.begin(), trainers_.end(),
                                     [](const auto& entry) { return entry.second.wants_lease; });
  if (!orders.granted.empty()) patience_ = options_.patience;
  if (wish_open && !draining_ && !IsOver(reply.state())) {
    wish_repeats_ = now + patience_;
    patience_ = std::min(2 * patience_, options_.heartbeat);
  }
  return orders;
}

void SessionMachine::HeartbeatFailed(absl::Time now) {
  under_way_ = false;
  last_sent_ = now;
  for (auto& [generation, lease] : leases_) lease.sent_end = false;
}

std::string SessionMachine::DebugString() const {
  SessionMachine copy = *this;
  return copy.BeginHeartbeat(absl::UnixEpoch()).ShortDebugString();
}

}  // namespace capstan::worker
