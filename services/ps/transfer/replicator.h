// Receives the operations that owners have done on partitions that this shard backs up, and repeats
// them here.
#ifndef CAPSTAN_PS_TRANSFER_REPLICATOR_H_
#define CAPSTAN_PS_TRANSFER_REPLICATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/replicate_message.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// *Thread-safe*.
class Replicator {
 public:
  // `shard` must outlive this object.
  explicit Replicator(Shard& shard) : shard_(shard) {}

  // Repeats the new operations, in their order. Stops before an operation whose pair was made by a
  // view that this shard has not followed yet, and before one of a partition that `source` does not
  // own in the newest view: the owner sends the rest again. UNAVAILABLE: the newest view does not
  // name the source; INVALID_ARGUMENT: an impossible request; OUT_OF_RANGE: an operation before the
  // first one is missing; FAILED_PRECONDITION: a later stream of this source has begun.
  absl::StatusOr<v1::ReplicateReply> Take(const ReplicateMessage& message);

  // Forgets sources that the newest view does not name.
  void Follow();

 private:
  struct Source {
    absl::Mutex mu;
    uint64_t stream ABSL_GUARDED_BY(mu) = 0;
    uint64_t taken ABSL_GUARDED_BY(mu) = 0;
    // Operations that were refused, of which the owner may not know yet. They are named in each
    // reply until it does, because a reply may be lost, and the owner would then assume that they
    // were carried out.
    std::set<uint64_t> refused ABSL_GUARDED_BY(mu);
  };

  std::shared_ptr<Source> Find(Incarnation source) ABSL_LOCKS_EXCLUDED(mu_);

  Shard& shard_;
  absl::Mutex mu_;
  std::map<Incarnation, std::shared_ptr<Source>> sources_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICATOR_H_
