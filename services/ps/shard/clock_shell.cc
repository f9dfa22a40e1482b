#include "ps/shard/clock_shell.h"

#include <algorithm>

#include "capstan/rpc/status.h"
#include "ps/partition/retry_hints.h"

namespace capstan::ps {
namespace {

// If both parts are ssp the stricter bound applies, as one pull is for both parts.
uint64_t BoundOf(const Catalog& catalog) {
  uint64_t bound = ~uint64_t{0};
  for (Part part : {Part::kDense, Part::kSparse}) {
    if (catalog.IsSsp(part)) bound = std::min<uint64_t>(bound, catalog.policy(part).staleness());
  }
  return bound;
}

}  // namespace

ReleasedPulls::~ReleasedPulls() {
  if (clocks_ != nullptr) clocks_->Answer(answers_);
}

ClockShell::ClockShell(const Catalog& catalog, ReplicaStreams* streams)
    : needed_(catalog.HasSsp()), streams_(streams), machine_(BoundOf(catalog)) {}

void ClockShell::SetQuorum(const v1::View& view) {
  if (!needed_) return;
  std::vector<QuorumTrainer> quorum;
  for (const v1::TrainerInfo& trainer : view.trainers()) {
    quorum.push_back({TrainerId{trainer.trainer()}, trainer.start_clock()});
  }
  PullAnswers released;
  {
    absl::MutexLock lock(&mu_);
    start_clocks_.clear();
    for (const QuorumTrainer& each : quorum) start_clocks_[each.trainer] = each.start_clock;
    released = machine_.SetQuorum(quorum);
    quorum_known_ = true;
  }
  Answer(released);
}

void ClockShell::Restart() {
  if (!needed_) return;
  PullAnswers released;
  {
    absl::MutexLock lock(&mu_);
    released = machine_.Restart();
    owners_.clear();
    quorum_known_ = false;
  }
  Answer(released);
}

void ClockShell::TakeOver(const std::vector<FinishedClock>& clocks, bool had_none,
                          ViewEpoch epoch) {
  if (!needed_) return;
  absl::MutexLock lock(&mu_);
  machine_.TakeOver(clocks, had_none);
  hold_from_ = epoch;
}

std::vector<FinishedClock> ClockShell::Finished() const {
  absl::MutexLock lock(&mu_);
  return needed_ ? machine_.clocks() : std::vector<FinishedClock>();
}

std::optional<WaiterId> ClockShell::Wait(uint64_t clock, absl::Time deadline, size_t bytes,
                                         Done done) {
  const WaiterId waiter = parked_.Park(std::move(done));
  std::optional<PullWait> wait;
  {
    absl::MutexLock lock(&mu_);
    if (quorum_known_) wait = machine_.Pull(waiter, clock, deadline, bytes);
  }
  if (!wait) {  // Pulls must not get ahead of trainers that this shard does not know.
    parked_.Release(waiter, absl::UnavailableError("the timeline's view is on its way"));
    return std::nullopt;
  }
  if (*wait == PullWait::kParked) return waiter;
  parked_.Release(
      waiter,
      *wait == PullWait::kGo
          ? absl::OkStatus()
          : WithRetryAfter(absl::ResourceExhaustedError("too many pulls wait on this shard"),
                           kBusyHint));
  return std::nullopt;
}

void ClockShell::SetParkedLimit(size_t bytes) {
  absl::MutexLock lock(&mu_);
  machine_.SetParkedLimit(bytes);
}

bool ClockShell::Forget(WaiterId waiter) {
  {
    absl::MutexLock lock(&mu_);
    machine_.Forget(waiter);
  }
  return static_cast<bool>(parked_.Take(waiter));
}

ReleasedPulls ClockShell::OnFinished(TrainerId trainer, uint64_t clock, ViewEpoch by) {
  if (!needed_) return {};
  absl::MutexLock lock(&mu_);
  if (by < hold_from_) return {};
  if (streams_ != nullptr) streams_->TellFinished(trainer, clock);
  return {*this, machine_.Finished(trainer, clock)};
}

void ClockShell::Tick(absl::Time now) {
  if (!needed_) return;
  PullAnswers over;
  {
    absl::MutexLock lock(&mu_);
    over = machine_.Tick(now);
  }
  Answer(over);
}

void ClockShell::Answer(const PullAnswers& answers) {
  for (const PullAnswer& answer : answers) parked_.Release(answer.waiter, answer.status);
}

void ClockShell::AdoptFrom(Incarnation owner, const std::vector<FinishedClock>& clocks) {
  if (!needed_) return;
  absl::MutexLock lock(&mu_);
  std::map<TrainerId, uint64_t>& there = owners_[owner];
  for (const FinishedClock& finished : clocks) there[finished.trainer] = finished.clock;
}

void ClockShell::HearOfOwner(Incarnation owner, FinishedClock finished) {
  if (!needed_) return;
  absl::MutexLock lock(&mu_);
  uint64_t& known = owners_[owner][finished.trainer];
  known = std::max(known, finished.clock);
}

void ClockShell::KeepOwners(absl::FunctionRef<bool(Incarnation)> named) {
  absl::MutexLock lock(&mu_);
  std::erase_if(owners_, [named](const auto& of) { return !named(of.first); });
}

// A trainer that an owner has not reported counts with its start clock. That may be too low, but
// all trainers will report their clocks again.
std::vector<FinishedClock> ClockShell::LowestOfOwners() const {
  std::map<TrainerId, uint64_t> lowest;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [owner, told] : owners_) {
      std::map<TrainerId, uint64_t> there = told;
      there.insert(start_clocks_.begin(), start_clocks_.end());
      for (const auto& [trainer, clock] : there) {
        const auto known = lowest.try_emplace(trainer, clock).first;
        known->second = std::min(known->second, clock);
      }
    }
  }
  std::vector<FinishedClock> clocks;
  for (const auto& [trainer, clock] : lowest) clocks.push_back({trainer, clock});
  return clocks;
}

ClockShell::Facts ClockShell::facts() const {
  if (!needed_) return {};
  absl::MutexLock lock(&mu_);
  return {.spread = machine_.spread(),
          .trainers = machine_.trainers(),
          .parked = machine_.parked(),
          .parked_bytes = machine_.parked_bytes()};
}

}  // namespace capstan::ps
