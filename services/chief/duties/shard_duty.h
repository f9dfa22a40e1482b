// Registers shards, and takes in what they report of themselves. Other duties (MemberDuty,
// PromotionDuty and so on) decide what happens to partitions when shards come, leave or are lost.
#ifndef CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

class ShardDuty : public Duty {
 public:
  using Duty::Duty;

  // FAILED_PRECONDITION: another wire version. The other errors are those of ShardTable::Register.
  absl::StatusOr<ShardTable::Arrival> Register(const v1::RegisterShardRequest& request,
                                               absl::Time now);
  // Returns true if Register would return kReplaced.
  bool Replaces(const v1::RegisterShardRequest& request) const;
  // Returns UNAVAILABLE if no other process may register as this shard now, because the present one
  // is alive: it is `watched` (see ChiefMachine::RegisterShard) and not silent. A process that is
  // leaving and owns nothing any more may be replaced. REQUIRES: there is such a shard, and
  // PromotionDuty::Listen was called.
  absl::Status CheckFree(uint32_t index, bool watched, absl::Time now) const;
  // Returns the reply to a shard that has registered.
  v1::RegisterShardReply Welcome() const;
  // Takes in a heartbeat, and returns its shard. Returns null if the process is not known and has
  // to register, or if it does not show its secret.
  const Shard* Hear(const v1::ShardHeartbeatRequest& request, absl::Time now);

  // Remembers, for this chief and all later ones, that a certificate with the shard's number was
  // shown.
  void NoteNumbered(uint32_t index);
  // See ChiefMachine.
  bool MayBeUnnumbered(uint32_t index) const;

  // Returns the address of this process of a shard; empty if the process is not known, or known to
  // have ended.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const;
  // Returns true if a leaving shard was heard of within the last two seconds.
  bool SeesShardsOff(absl::Time now) const;
  // Warns of shards for which there is no partition, while they keep trying to register.
  void WatchSpares(absl::Time now);

 private:
  void NoteSpare(uint32_t index, absl::Time now);

  std::map<uint32_t, absl::Time> spare_shards_;  // By index: when it last tried to register.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_
