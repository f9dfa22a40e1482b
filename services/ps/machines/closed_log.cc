#include "ps/machines/closed_log.h"

namespace capstan::ps {

bool ClosedLog::Learn(const RoundCommit& set) {
  if (set.round == last_round() + 1) {
    sets_.push_back(set);
    newest_ = set;
  }
  return sets_.size() >= kLong;
}

std::vector<RoundCommit> ClosedLog::After(uint64_t round) const {
  if (round >= last_round()) return {};
  const uint64_t skip = round > base_ ? round - base_ : 0;
  return {sets_.begin() + static_cast<std::ptrdiff_t>(skip), sets_.end()};
}

RoundCommit ClosedLog::SetOf(uint64_t round) const {
  if (round > base_ && round <= last_round()) return sets_[round - base_ - 1];
  return newest_.round == round ? newest_ : RoundCommit{round, {}};
}

void ClosedLog::Forget(uint64_t round) {
  while (base_ < round && !sets_.empty()) {
    sets_.pop_front();
    ++base_;
  }
}

}  // namespace capstan::ps
