#include "ps/machines/clock_machine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::ps {

PullAnswers ClockMachine::SetQuorum(std::span<const QuorumTrainer> trainers) {
  strangers_.merge(std::exchange(clocks_, {}));
  for (const QuorumTrainer& trainer : trainers) {
    uint64_t& clock = clocks_[trainer.trainer];
    clock = trainer.start_clock;
    const auto heard = strangers_.find(trainer.trainer);
    if (heard == strangers_.end()) continue;
    clock = std::max(clock, heard->second);
    strangers_.erase(heard);
  }
  BoundStrangers();
  return ReleasePulls();
}

PullAnswers ClockMachine::Restart() {
  clocks_.clear();
  strangers_.clear();
  PullAnswers answers;
  for (const Parked& pull : std::exchange(parked_, {})) {
    answers.push_back({pull.waiter, absl::UnavailableError("the timeline of the pull is over")});
  }
  parked_bytes_ = 0;
  return answers;
}

// Trainers' ids ascend in time: the oldest is forgotten first.
void ClockMachine::BoundStrangers() {
  while (strangers_.size() > kMaxStrangers) strangers_.erase(strangers_.begin());
}

PullAnswers ClockMachine::Finished(TrainerId trainer, uint64_t clock) {
  const auto found = clocks_.find(trainer);
  if (found == clocks_.end()) {
    uint64_t& heard = strangers_[trainer];
    heard = std::max(heard, clock);
    BoundStrangers();
    return {};
  }
  if (clock <= found->second) return {};
  found->second = clock;
  return ReleasePulls();
}

void ClockMachine::TakeOver(std::span<const FinishedClock> clocks, bool had_none) {
  for (const FinishedClock& there : clocks) {
    const bool trains = clocks_.contains(there.trainer);
    std::map<TrainerId, uint64_t>& known = trains ? clocks_ : strangers_;
    if (had_none) {  // What was known here was of nothing.
      known[there.trainer] = there.clock;
    } else if (const auto here = known.find(there.trainer); here != known.end()) {
      here->second = std::min(here->second, there.clock);
    }
  }
  BoundStrangers();
}

PullWait ClockMachine::Pull(WaiterId waiter, uint64_t step, absl::Time deadline, size_t bytes) {
  if (MayPull(step, slowest(), bound_)) return PullWait::kGo;
  if (parked_.size() >= kMaxParked || parked_bytes_ + bytes > max_parked_bytes_) {
    return PullWait::kFull;
  }
  parked_.push_back({waiter, step, deadline, bytes});
  parked_bytes_ += bytes;
  return PullWait::kParked;
}

void ClockMachine::Unpark(absl::FunctionRef<bool(const Parked&)> over) {
  std::erase_if(parked_, [&](const Parked& pull) {
    if (!over(pull)) return false;
    parked_bytes_ -= pull.bytes;
    return true;
  });
}

void ClockMachine::Forget(WaiterId waiter) {
  Unpark([waiter](const Parked& pull) { return pull.waiter == waiter; });
}

PullAnswers ClockMachine::ReleasePulls() {
  PullAnswers answers;
  const uint64_t slowest_clock = slowest();
  Unpark([&](const Parked& pull) {
    if (!MayPull(pull.step, slowest_clock, bound_)) return false;
    answers.push_back({pull.waiter, absl::OkStatus()});
    return true;
  });
  return answers;
}

PullAnswers ClockMachine::Tick(absl::Time now) {
  PullAnswers answers;
  Unpark([&](const Parked& pull) {
    if (pull.deadline > now) return false;
    answers.push_back({pull.waiter, absl::DeadlineExceededError(absl::StrCat(
                                        "step ", pull.step, " waits for the slowest trainer, at ",
                                        slowest(), ", bound ", bound_))});
    return true;
  });
  return answers;
}

absl::Time ClockMachine::NextWake() const {
  absl::Time wake = absl::InfiniteFuture();
  for (const Parked& pull : parked_) wake = std::min(wake, pull.deadline);
  return wake;
}

std::vector<FinishedClock> ClockMachine::clocks() const {
  std::vector<FinishedClock> clocks;
  for (const auto& [trainer, clock] : clocks_) clocks.push_back({trainer, clock});
  for (const auto& [trainer, clock] : strangers_) clocks.push_back({trainer, clock});
  return clocks;
}

uint64_t ClockMachine::slowest() const {
  uint64_t slowest = std::numeric_limits<uint64_t>::max();
  for (const auto& [trainer, clock] : clocks_) slowest = std::min(slowest, clock);
  return slowest;
}

uint64_t ClockMachine::spread() const {
  uint64_t fastest = 0;
  for (const auto& [trainer, clock] : clocks_) fastest = std::max(fastest, clock);
  return clocks_.empty() ? 0 : fastest - slowest();
}

std::string ClockMachine::DebugString() const {
  std::string text;
  for (const auto& [trainer, clock] : clocks_)
    absl::StrAppend(&text, "m", Raw(trainer), ":", clock, " ");
  for (const auto& [trainer, clock] : strangers_)
    absl::StrAppend(&text, "x", Raw(trainer), ":", clock, " ");
  for (const Parked& pull : parked_) {
    absl::StrAppend(&text, "p", pull.step, " ");
  }
  return text;
}

}  // namespace capstan::ps
