// Takes what the owners of partitions have done that this shard backs up, and carries it out: in
// that order, but for the owner it is enough that it is here.
#ifndef CAPSTAN_PS_SHARD_REPLICATOR_H_
#define CAPSTAN_PS_SHARD_REPLICATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/byte_budget.h"
#include "ps/shard/replicate_message.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// *Thread-safe*.
class Replicator {
 public:
  static constexpr size_t kMostWaiting = 8 << 20;  // Bytes.

  // `shard` must outlive it.
  explicit Replicator(Shard& shard) : shard_(shard) {}

  struct Taken {
    v1::ReplicateReply reply;
    // To be called when the reply is on its way, if it is not empty: carries out what is accepted.
    // Whoever else needs the copies does so before, if this is late.
    absl::AnyInvocable<void()> carry_out;
  };
  // Accepts the operations that are new, in their order. An operation of a pair of a later view
  // than those followed so far ends it: the rest is to come again. What waits to be carried out is
  // bounded: above that it is done now. INVALID_ARGUMENT: an impossible request; OUT_OF_RANGE: an
  // operation before it is missing; FAILED_PRECONDITION: a later stream of this source has begun.
  absl::StatusOr<Taken> Take(std::shared_ptr<const ReplicateMessage> message);

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

  absl::StatusOr<v1::ReplicateReply> Accept(const std::shared_ptr<const ReplicateMessage>& message);
  // Carries out what has been accepted for the partitions that the message is about.
  void CarryOut(const ReplicateMessage& message);
  std::shared_ptr<Source> Find(Incarnation source) ABSL_LOCKS_EXCLUDED(mu_);
  // True: the view that makes the operation's pair has not been followed yet.
  bool IsEarly(const v1::Operation& operation) const;

  Shard& shard_;
  ByteBudget waiting_{kMostWaiting};  // Messages that are not carried out yet.
  absl::Mutex mu_;
  std::map<Incarnation, std::shared_ptr<Source>> sources_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REPLICATOR_H_
