#include "worker/session/map_watch.h"

#include <algorithm>
#include <utility>

namespace capstan::worker {

std::vector<ShardIndex> ShardsOf(const v1::View& view) {
  std::vector<ShardIndex> shards;
  for (const v1::ShardInfo& shard : view.shards()) {
    shards.push_back(ShardIndex{static_cast<int32_t>(shard.index())});
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

ViewChanged MapWatch::Take(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  std::vector<uint32_t> owners(view.owners().begin(), view.owners().end());
  const bool moved = owners != owners_;
  owners_ = std::move(owners);
  return {.shards = ShardsOf(view), .restarted = restarted, .moved = moved || !restarted.empty()};
}

}  // namespace capstan::worker
