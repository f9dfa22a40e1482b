#include "chief/state/takeover.h"

#include <algorithm>

#include "capstan/base/ids.h"

namespace capstan::chief {

Takeover::Takeover(const v1::View& view, absl::Duration patience, absl::Time now)
    : timeline_(view.timeline()), until_(now + patience) {
  const std::set<uint32_t> owners(view.owners().begin(), view.owners().end());
  for (const v1::ShardInfo& shard : view.shards()) {
    if (owners.contains(shard.index())) shards_[shard.index()] = shard.incarnation();
  }
  for (const v1::TrainerInfo& trainer : view.trainers()) workers_.insert(trainer.worker());
}

Takeover::Shards Takeover::shards(const ShardTable& table) const {
  if (!Changed(table).empty()) return Shards::kChanged;
  return Awaited(table).empty() ? Shards::kBack : Shards::kAwaited;
}

bool Takeover::AllChanged(const ShardTable& table) const {
  return std::all_of(shards_.begin(), shards_.end(), [&](const auto& awaited) {
    const Shard* shard = table.Find(awaited.first);
    return shard == nullptr || !shard->present || IsChanged(*shard, awaited.second);
  });
}

void Takeover::Replace(uint32_t shard, const std::map<uint32_t, uint64_t>& incarnations) {
  shards_.erase(shard);
  shards_.insert(incarnations.begin(), incarnations.end());
}

bool Takeover::IsChanged(const Shard& shard, uint64_t incarnation) const {
  return Raw(shard.incarnation) != incarnation || shard.loaded_timeline != timeline_;
}

std::set<uint32_t> Takeover::Awaited(const ShardTable& table) const {
  std::set<uint32_t> awaited;
  for (const auto& [index, incarnation] : shards_) {
    const Shard* shard = table.Find(index);
    if (shard == nullptr || !shard->present) awaited.insert(index);
  }
  return awaited;
}

std::set<uint32_t> Takeover::Changed(const ShardTable& table) const {
  std::set<uint32_t> changed;
  for (const auto& [index, incarnation] : shards_) {
    const Shard* shard = table.Find(index);
    if (shard == nullptr || !shard->present) continue;
    if (IsChanged(*shard, incarnation)) changed.insert(index);
  }
  return changed;
}

}  // namespace capstan::chief
