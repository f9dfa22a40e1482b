// What a shard asks the coordinator of the synchronous rounds next, and what it does with the
// answer: one watch is for the counts of the open round, another for the commits of those that are
// closed. The coordinator is on the owner of partition 0.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// What a watch is for. Each has its own, as a shard that adds what has been counted is busy with
// that for long, and the commit must be there before the requests of the next round.
enum class Watched { kCounts, kCommits };

// Thread-compatible.
class CoordinatorWatch {
 public:
  // `shard` must outlive the watch.
  explicit CoordinatorWatch(Shard& shard, Watched watched = Watched::kCounts)
      : shard_(shard), watched_(watched) {}

  // Takes the place of the coordinator, and the timeline, from `view`. Returns true if either is
  // another one than before: a request that is under way is void then.
  bool SetView(const v1::View& view);

  // The address of the coordinator's shard; empty: no view has named it.
  const std::string& address() const { return address_; }
  uint32_t coordinator() const { return coordinator_; }  // The number of the coordinator's shard.
  // The next request: asks for what this shard has not been told yet in the view's timeline.
  v1::WatchCountsRequest Request() const;

  // Tells the shard what the coordinator has replied to `asked`; does nothing if the view has
  // changed meanwhile. Returns false if the shard has learned nothing, as it does not serve the
  // view's timeline yet: ask the same again, a little later. INVALID_ARGUMENT: `reply` is
  // malformed; UNAVAILABLE: the seal of its commit is wrong, or the shard has yet to be given the
  // key.
  absl::StatusOr<bool> Hear(const v1::WatchCountsRequest& asked, const v1::WatchCountsReply& reply);

 private:
  absl::StatusOr<bool> HearCommit(const v1::WatchCountsReply& reply);

  Shard& shard_;
  const Watched watched_;
  std::string address_;
  uint32_t coordinator_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t timeline_ = 0;
  // How much of what the coordinator has told in timeline_ the shard has learned.
  uint64_t round_ = 0;
  uint32_t counted_ = 0;
  uint32_t ended_ = 0;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
