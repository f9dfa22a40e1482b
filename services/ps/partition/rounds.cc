#include "ps/partition/rounds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace capstan::ps {

void Rounds::Reset(Timeline timeline, uint64_t passed) {
  absl::MutexLock lock(&mu_);
  timeline_ = timeline;
  log_ = ClosedLog(passed);
  pins_.clear();
  last_.store(passed, std::memory_order_release);
}

bool Rounds::Learn(Timeline timeline, const RoundCommit& set, IsFree is_free) {
  if (set.round <= last_round()) return false;
  absl::MutexLock lock(&mu_);
  if (timeline != timeline_) return false;
  if (set.round > log_.last_round() + 1 && pins_.empty() && is_free()) log_ = ClosedLog(set);
  return LearnLocked(set);
}

bool Rounds::LearnLocked(const RoundCommit& set) {
  const bool is_long = log_.Learn(set);
  if (on_learned_ && log_.last_round() == set.round) on_learned_(set);
  last_.store(log_.last_round(), std::memory_order_release);
  return is_long;
}

absl::Status Rounds::Pin(Timeline timeline, const RoundCommit& passed, IsFree is_free) {
  absl::MutexLock lock(&mu_);
  if (timeline != timeline_) return absl::AbortedError("the rounds are of another timeline");
  if (passed.round > log_.last_round()) {
    const bool next = passed.round == log_.last_round() + 1 && !passed.lanes.empty();
    if (next) {
      LearnLocked(passed);
    } else if (pins_.empty() && is_free()) {
      log_ = ClosedLog(passed);
    } else {
      return absl::UnavailableError(absl::StrCat("the partition has passed round ", passed.round,
                                                 ", here the last is ", log_.last_round()));
    }
    last_.store(log_.last_round(), std::memory_order_release);
  }
  if (!log_.Follows(passed.round)) {
    return absl::AbortedError(absl::StrCat("the partition has passed round ", passed.round,
                                           ", and the next is forgotten here"));
  }
  pins_.insert(passed.round);
  return absl::OkStatus();
}

void Rounds::Unpin(Timeline timeline, uint64_t passed) {
  absl::MutexLock lock(&mu_);
  if (timeline != timeline_) return;
  const auto found = pins_.find(passed);
  if (found != pins_.end()) pins_.erase(found);
}

std::vector<RoundCommit> Rounds::After(uint64_t round) const {
  if (round >= last_round()) return {};
  absl::MutexLock lock(&mu_);
  return log_.After(round);
}

RoundCommit Rounds::SetOf(uint64_t round) const {
  absl::MutexLock lock(&mu_);
  return log_.SetOf(round);
}

bool Rounds::KeepsAny() const {
  absl::MutexLock lock(&mu_);
  return !log_.empty();
}

void Rounds::WithKept(absl::FunctionRef<void(const ClosedLog&)> call) const {
  absl::MutexLock lock(&mu_);
  call(log_);
}

void Rounds::Forget(uint64_t round) {
  absl::MutexLock lock(&mu_);
  log_.Forget(pins_.empty() ? round : std::min(round, *pins_.begin()));
}

}  // namespace capstan::ps
