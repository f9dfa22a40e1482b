// Takes the operations that owners have done to partitions that this shard backs up, and carries
// them out here.
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

  // Carries out the operations that are new, in their order. Stops before an operation whose pair
  // is made by a later view than has been followed so far, and before one that is not the source's
  // by the newest view: the owner sends the rest again. UNAVAILABLE: the newest view does not name
  // the source; INVALID_ARGUMENT: an impossible request; OUT_OF_RANGE: an operation before the
  // first one is missing; FAILED_PRECONDITION: a later stream of this source has begun.
  absl::StatusOr<v1::ReplicateReply> Take(const ReplicateMessage& message);

  // Forgets sources that the newest view does not name.
  void Follow();

 private:
  struct Source {
    absl::Mutex mu;
    uint64_t stream ABSL_GUARDED_BY(mu) = 0;
    uint64_t taken ABSL_GUARDED_BY(mu) = 0;
    // Operations that were refused, of which the owner may not have heard yet: they are named in
    // each reply until it has, as a reply may be lost and the owner would take them for carried
    // out.
    std::set<uint64_t> refused ABSL_GUARDED_BY(mu);
  };

  std::shared_ptr<Source> Find(Incarnation source) ABSL_LOCKS_EXCLUDED(mu_);

  Shard& shard_;
  absl::Mutex mu_;
  std::map<Incarnation, std::shared_ptr<Source>> sources_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICATOR_H_
