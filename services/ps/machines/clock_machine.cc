#include "ps/machines/clock_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::ps {

PullAnswers ClockMachine::SetQuorum(std::span<const QuorumTrainer> trainers) {
  strangers_.insert(clocks_.all().begin(), clocks_.all().end());
  clocks_.Clear();
  for (const QuorumTrainer& trainer : trainers) {
    const auto heard = strangers_.find(trainer.trainer);
    const bool known = heard != strangers_.end();
    clocks_.Set(trainer.trainer,
                known ? std::max(trainer.start_clock, heard->second) : trainer.start_clock);
    if (known) strangers_.erase(heard);
  }
  BoundStrangers();
  return ReleasePulls();
}

PullAnswers ClockMachine::Restart() {
  clocks_.Clear();
  strangers_.clear();
  PullAnswers answers;
  for (const Parked& pull : std::exchange(parked_, {})) {
    answers.push_back({pull.waiter, absl::UnavailableError("the timeline of the pull is over")});
  }
  parked_bytes_ = 0;
  return answers;
}

// Forgets the oldest trainers first: ids ascend in the order in which trainers join.
void ClockMachine::BoundStrangers() {
  while (strangers_.size() > kMaxStrangers) strangers_.erase(strangers_.begin());
}

PullAnswers ClockMachine::Finished(TrainerId trainer, uint64_t clock) {
  const uint64_t* const found = clocks_.Find(trainer);
  if (found == nullptr) {
    uint64_t& heard = strangers_[trainer];
    heard = std::max(heard, clock);
    BoundStrangers();
    return {};
  }
  if (clock <= *found) return {};
  clocks_.Set(trainer, clock);
  return slowest() == released_up_to_ ? PullAnswers() : ReleasePulls();
}

void ClockMachine::TakeOver(std::span<const FinishedClock> clocks, bool had_none) {
  for (const FinishedClock& there : clocks) {
    const auto stranger = strangers_.find(there.trainer);
    if (const uint64_t* const here = clocks_.Find(there.trainer)) {
      // A shard without partitions had no pushes by which its clocks could be right.
      clocks_.Set(there.trainer, had_none ? there.clock : std::min(*here, there.clock));
    } else if (had_none) {
      strangers_[there.trainer] = there.clock;
    } else if (stranger != strangers_.end()) {
      stranger->second = std::min(stranger->second, there.clock);
    }
  }
  BoundStrangers();
  // The slowest clock may be lower now. Finished() must release the pulls that are parked from here
  // on when that trainer has caught up.
  released_up_to_ = std::min(released_up_to_, slowest());
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
  released_up_to_ = slowest();
  Unpark([&](const Parked& pull) {
    if (!MayPull(pull.step, released_up_to_, bound_)) return false;
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

std::vector<FinishedClock> ClockMachine::clocks() const {
  std::vector<FinishedClock> clocks;
  for (const auto& [trainer, clock] : clocks_.all()) clocks.push_back({trainer, clock});
  for (const auto& [trainer, clock] : strangers_) clocks.push_back({trainer, clock});
  return clocks;
}

std::string ClockMachine::DebugString() const {
  std::string text;
  for (const auto& [trainer, clock] : clocks_.all())
    absl::StrAppend(&text, "m", Raw(trainer), ":", clock, " ");
  for (const auto& [trainer, clock] : strangers_)
    absl::StrAppend(&text, "x", Raw(trainer), ":", clock, " ");
  for (const Parked& pull : parked_) {
    absl::StrAppend(&text, "p", pull.step, " ");
  }
  return text;
}

}  // namespace capstan::ps
