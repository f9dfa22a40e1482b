// What a shard has to do whenever it gets a view, in the right order.
#ifndef CAPSTAN_PS_TRANSFER_VIEW_FOLLOWERS_H_
#define CAPSTAN_PS_TRANSFER_VIEW_FOLLOWERS_H_

#include "absl/status/status.h"
#include "capstan/base/trace.h"
#include "ps/shard/shard.h"
#include "ps/transfer/mover.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/staged_partitions.h"

namespace capstan::ps {

// Confined to the thread that receives views.
class ViewFollowers {
 public:
  // All arguments must outlive this object.
  ViewFollowers(Shard& shard, Mover& mover, StagedPartitions& staged, Replicator& replicator)
      : shard_(shard), mover_(mover), staged_(staged), replicator_(replicator) {}

  // Must be called after Shard::SetView. DATA_LOSS: the view gives this shard a partition that it
  // does not have; the process has to end.
  absl::Status Follow() {
    const ViewEpoch epoch = shard_.view().newest()->epoch();
    trace::Write("follows", {{"incarnation", Raw(shard_.identity().incarnation)},
                             {"term", epoch.term},
                             {"n", epoch.n}});
    shard_.backups()
        .FollowPairs();  // Before the mover thaws partitions that are frozen for a pair.
    mover_.Follow();
    shard_.backups().FollowStandbys();
    staged_.Follow();
    replicator_.Follow();
    shard_.view().Followed(epoch);
    return shard_.backups().CheckOwned();
  }

 private:
  Shard& shard_;
  Mover& mover_;
  StagedPartitions& staged_;
  Replicator& replicator_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_VIEW_FOLLOWERS_H_
