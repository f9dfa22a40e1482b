// What a newer view means for work under way: which shards there are, and whether partitions have
// moved.
#ifndef CAPSTAN_WORKER_SESSION_MAP_WATCH_H_
#define CAPSTAN_WORKER_SESSION_MAP_WATCH_H_

#include <cstdint>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// The shards that the view names, ascending. Their indexes may have holes.
std::vector<ShardIndex> ShardsOf(const v1::View& view);

// Thread-compatible.
class MapWatch {
 public:
  // `view`: the one by which the work has begun.
  explicit MapWatch(const v1::View& view) : owners_(view.owners().begin(), view.owners().end()) {}

  // Makes the event of a newer view. Where it says `moved`, the caller adds `replanned` by the new
  // map. `restarted`: shards whose incarnation has changed; these count as moved, for all is sent
  // to them again.
  ViewChanged Take(const v1::View& view, const std::vector<ShardIndex>& restarted);

 private:
  std::vector<uint32_t> owners_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_MAP_WATCH_H_
