#include "worker/machines/trainer_clock.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan::worker {

namespace {
constexpr uint64_t kNoStep = ~uint64_t{0};
}  // namespace

void TrainerClock::Over(uint64_t step) {
  if (step < floor_) return;
  over_.insert(step);
  RaiseFloor();
}

void TrainerClock::AdvanceTo(uint64_t clock) {
  if (clock <= floor_) return;
  floor_ = clock;
  next_ = std::max(next_, clock);
  RaiseFloor();
}

void TrainerClock::RaiseFloor() {
  over_.erase(over_.begin(), over_.lower_bound(floor_));
  while (over_.erase(floor_) > 0) ++floor_;
  for (auto& [shard, clock] : shards_) {
    clock.finished.erase(clock.finished.begin(), clock.finished.lower_bound(floor_));
  }
}

uint64_t TrainerClock::Prefix(const ShardClock* clock, uint64_t and_step) const {
  uint64_t prefix = floor_;
  while (prefix == and_step || over_.contains(prefix) ||
         (clock != nullptr && clock->finished.contains(prefix))) {
    ++prefix;
  }
  return prefix;
}

uint64_t TrainerClock::ClockOfPush(ShardIndex shard, uint64_t step) const {
  const auto found = shards_.find(shard);
  return Prefix(found == shards_.end() ? nullptr : &found->second, step);
}

uint64_t TrainerClock::ClockOf(ShardIndex shard) const { return ClockOfPush(shard, kNoStep); }

void TrainerClock::Finished(ShardIndex shard, uint64_t step, uint64_t told) {
  ShardClock& clock = shards_[shard];
  if (step >= floor_) clock.finished.insert(step);
  clock.told = std::max(clock.told, told);
}

bool TrainerClock::Behind(ShardIndex shard) const {
  const auto found = shards_.find(shard);
  const uint64_t told = found == shards_.end() ? 0 : found->second.told;
  return told < ClockOf(shard);
}

void TrainerClock::Told(ShardIndex shard, uint64_t clock) {
  ShardClock& at = shards_[shard];
  at.told = std::max(at.told, clock);
}

void TrainerClock::ToldNothing(ShardIndex shard) { shards_[shard].told = 0; }

void TrainerClock::FinishAgain() {
  for (auto& [shard, clock] : shards_) clock = {};
}

std::string TrainerClock::DebugString() const {
  std::string text =
      absl::StrCat("clock ", floor_, " next ", next_, " over ", absl::StrJoin(over_, ","));
  for (const auto& [shard, clock] : shards_) {
    absl::StrAppend(&text, " s", Raw(shard), ":", absl::StrJoin(clock.finished, ","), " told ",
                    clock.told);
  }
  return text;
}

}  // namespace capstan::worker
