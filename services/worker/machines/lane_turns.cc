#include "worker/machines/lane_turns.h"

#include <algorithm>
#include <utility>

#include "capstan/consistency/lanes_at_work.h"

namespace capstan::worker {

LaneTurns::LaneTurns(uint64_t dense_bytes, Order order)
    : most_(LanesAtWork(dense_bytes)), order_(order) {}

void LaneTurns::Join(const void* who, LaneIndex lane) { lanes_[who].lane = lane; }

void LaneTurns::Leave(const void* who) {
  const auto found = lanes_.find(who);
  if (found == lanes_.end()) return;
  if (found->second.at_work) --at_work_;
  lanes_.erase(found);
  BeginNext();
}

void LaneTurns::Ask(const void* who, uint64_t round, absl::AnyInvocable<void()> begin) {
  Lane& lane = lanes_.at(who);
  lane.asked = ++questions_;
  lane.round = round;
  lane.begin = std::move(begin);
  BeginNext();
}

void LaneTurns::Pass(const void* who, uint64_t round) {
  const auto found = lanes_.find(who);
  if (found == lanes_.end()) return;
  found->second.had = std::max(found->second.had, round);
  BeginNext();
}

void LaneTurns::End(const void* who) {
  const auto found = lanes_.find(who);
  if (found == lanes_.end()) return;
  Lane& lane = found->second;
  if (lane.at_work) --at_work_;
  lane.at_work = false;
  lane.asked = 0;
  lane.begin = nullptr;
  BeginNext();
}

void LaneTurns::BeginNext() {
  for (auto next = Next(); next != lanes_.end() && MayBegin(next->second); next = Next()) {
    Lane& lane = next->second;
    lane.had = std::max(lane.had, lane.round);
    lane.at_work = true;
    lane.asked = 0;
    ++at_work_;
    auto begin = std::exchange(lane.begin, nullptr);
    begin();
  }
}

// Returns the waiting lane whose turn is next: the lowest, or the one that asked first.
LaneTurns::Lanes::iterator LaneTurns::Next() {
  const auto comes_first = [this](const Lane& a, const Lane& b) {
    return order_ == Order::kOfLanes ? a.lane < b.lane : a.asked < b.asked;
  };
  auto next = lanes_.end();
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if (lane->second.asked == 0) continue;
    if (next == lanes_.end() || comes_first(lane->second, next->second)) next = lane;
  }
  return next;
}

bool LaneTurns::MayBegin(const Lane& next) const {
  if (lanes_.size() <= most_) return true;
  if (order_ == Order::kOfAsking) return at_work_ < most_;
  const auto waits_for = [&next](const auto& other) {
    return other.second.lane < next.lane && other.second.had < next.round;
  };
  if (std::any_of(lanes_.begin(), lanes_.end(), waits_for)) return false;
  const auto is_below = [&next](const auto& other) {
    return !other.second.at_work || next.lane < other.second.lane;
  };
  return at_work_ < most_ || std::all_of(lanes_.begin(), lanes_.end(), is_below);
}

}  // namespace capstan::worker
