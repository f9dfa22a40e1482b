#include "chief/state/takeover.h"

#include "capstan/base/ids.h"

namespace capstan::chief {

Takeover::Takeover(const v1::View& view, absl::Duration patience, absl::Time now)
    : timeline_(view.timeline()), until_(now + patience) {
  for (const v1::ShardInfo& shard : view.shards()) shards_[shard.index()] = shard.incarnation();
  for (const v1::TrainerInfo& trainer : view.trainers()) workers_.insert(trainer.worker());
}

Takeover::Shards Takeover::shards(const ShardTable& table) const {
  if (!Changed(table).empty()) return Shards::kChanged;
  for (const auto& [index, incarnation] : shards_) {
    const Shard* shard = table.Find(index);
    if (shard == nullptr || !shard->present) return Shards::kAwaited;
  }
  return Shards::kBack;
}

std::set<uint32_t> Takeover::Changed(const ShardTable& table) const {
  std::set<uint32_t> changed;
  for (const auto& [index, incarnation] : shards_) {
    const Shard* shard = table.Find(index);
    if (shard == nullptr || !shard->present) continue;
    if (Raw(shard->incarnation) != incarnation || shard->loaded_timeline != timeline_) {
      changed.insert(index);
    }
  }
  return changed;
}

}  // namespace capstan::chief
