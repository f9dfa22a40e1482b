// Takes what the owners of partitions have done that this shard backs up, and carries it out.
#ifndef CAPSTAN_PS_SHARD_REPLICATOR_H_
#define CAPSTAN_PS_SHARD_REPLICATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/replicate_message.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// *Thread-safe*.
class Replicator {
 public:
  // `shard` must outlive it.
  explicit Replicator(Shard& shard) : shard_(shard) {}

  // Carries out the operations that are new, in their order. An operation of a pair of a later view
  // than those followed so far ends it: the rest is to come again. INVALID_ARGUMENT: an impossible
  // request; OUT_OF_RANGE: an operation before it is missing; FAILED_PRECONDITION: a later stream
  // of this source has begun.
  absl::StatusOr<v1::ReplicateReply> Take(const ReplicateMessage& message);

  // Forgets sources that the newest view does not name.
  void Follow();

 private:
  struct Source {
    absl::Mutex mu;
    uint64_t stream ABSL_GUARDED_BY(mu) = 0;
    uint64_t taken ABSL_GUARDED_BY(mu) = 0;
    // Operations that were refused, and of which the owner may not have heard yet: it would take
    // them for carried out if the answer that says so were lost.
    std::set<uint64_t> refused ABSL_GUARDED_BY(mu);
  };

  std::shared_ptr<Source> Find(Incarnation source) ABSL_LOCKS_EXCLUDED(mu_);
  // True: the view that makes the operation's pair has not been followed yet.
  bool IsEarly(const v1::Operation& operation) const;

  Shard& shard_;
  absl::Mutex mu_;
  std::map<Incarnation, std::shared_ptr<Source>> sources_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REPLICATOR_H_
