#include "worker/machines/lane_pulls.h"

namespace capstan::worker {

LanePulls::LanePulls(LaneTurns& turns, std::optional<LaneIndex> lane,
                     absl::AnyInvocable<void(const SendPull&)> pull)
    : turns_(turns), pull_(std::move(pull)) {
  if (lane) turns_.Join(this, *lane);
}

void LanePulls::Send(const SendPull& action) {
  if (!action.lane || in_turn_) return pull_(action);
  const bool asked = !waiting_.empty();
  waiting_[{action.batch, action.shard}] = action;
  if (!asked) turns_.Ask(this, action.lane->round, [this] { BeginTurn(); });
}

void LanePulls::BeginTurn() {
  in_turn_ = true;
  for (const auto& [name, action] : std::exchange(waiting_, {})) pull_(action);
}

void LanePulls::EndTurn() {
  in_turn_ = false;
  waiting_.clear();
  turns_.End(this);
}

void LanePulls::Keep(absl::FunctionRef<bool(uint64_t batch, ShardIndex shard)> wanted) {
  std::erase_if(waiting_, [&wanted](const auto& waiting) {
    return !wanted(waiting.first.first, waiting.first.second);
  });
}

}  // namespace capstan::worker
