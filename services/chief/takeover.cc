#include "chief/takeover.h"

#include "capstan/base/ids.h"

namespace capstan::chief {

Takeover::Takeover(const v1::View& view, absl::Duration patience, absl::Time now)
    : timeline_(view.timeline()), until_(now + patience) {
  for (const v1::ShardInfo& shard : view.shards()) shards_[shard.index()] = shard.incarnation();
  for (const v1::MemberInfo& member : view.members()) workers_.insert(member.worker());
}

Takeover::Shards Takeover::shards(const ShardTable& table) const {
  Shards result = Shards::kBack;
  for (const auto& [index, incarnation] : shards_) {
    const Shard* shard = table.Find(index);
    if (shard == nullptr || !shard->present) {
      result = Shards::kAwaited;
      continue;
    }
    if (Raw(shard->incarnation) != incarnation || shard->loaded_timeline != timeline_) {
      return Shards::kChanged;
    }
  }
  return result;
}

}  // namespace capstan::chief
