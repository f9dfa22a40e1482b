// Requests of a shard to the coordinator of the synchronous rounds, which is on the owner of
// partition 0, and what the shard does with the replies. One watch is for the counts of the open
// round, and another for the commits of closed rounds.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// What a watch is for. Counts and commits have a watch each, because adding counted gradients takes
// a shard long, and the commit must be there before the requests of the next round.
enum class Watched { kCounts, kCommits };

// Thread-compatible.
class CoordinatorWatch {
 public:
  // `shard` must outlive the watch.
  explicit CoordinatorWatch(Shard& shard, Watched watched = Watched::kCounts)
      : shard_(shard), watched_(watched) {}

  // Takes the coordinator's address and the timeline from `view`. Returns true if either has
  // changed: then a request that is under way is void.
  bool SetView(const v1::View& view);

  // The address of the coordinator's shard; empty: no view has named it.
  const std::string& address() const { return address_; }
  uint32_t coordinator() const { return coordinator_; }  // The index of the coordinator's shard.
  // Returns the next request, for what this shard does not know yet in the view's timeline.
  v1::WatchCountsRequest Request() const;

  // Passes the coordinator's reply to the request `asked` to the shard; does nothing if the view
  // has changed meanwhile. Returns false if the shard does not serve the view's timeline yet and
  // has ignored the reply: the same request must be sent again a little later. INVALID_ARGUMENT:
  // `reply` is malformed; UNAVAILABLE: the seal of its commit is wrong, or the shard does not have
  // the key yet.
  absl::StatusOr<bool> Hear(const v1::WatchCountsRequest& asked, const v1::WatchCountsReply& reply);

 private:
  absl::StatusOr<bool> HearCommit(const v1::WatchCountsReply& reply);

  Shard& shard_;
  const Watched watched_;
  std::string address_;
  uint32_t coordinator_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t timeline_ = 0;
  // How much of the coordinator's news in timeline_ the shard has applied.
  uint64_t round_ = 0;
  uint32_t counted_ = 0;
  uint32_t ended_ = 0;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
