// What shards say of themselves: they register, and are heard of. What becomes of their partitions
// when they come, leave or are lost is decided by others: MemberDuty, PromotionDuty and so on.
#ifndef CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_

#include <cstdint>
#include <map>
#include <string>

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
  // Register would say kReplaced.
  bool Replaces(const v1::RegisterShardRequest& request) const;
  // Returns what a shard is told that has registered.
  v1::RegisterShardReply Welcome() const;
  // Takes in what a shard says of itself. Null: this process is not known, and is to register.
  const Shard* Hear(const v1::ShardHeartbeatRequest& request, absl::Time now);

  // Returns the address of this process of a shard; empty: it is not known, or known to be gone.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const;
  // A shard that is to leave has been heard of a moment ago.
  bool SeesShardsOff(absl::Time now) const;
  // Warns of shards for which there is no partition, for as long as they ask to register.
  void WatchSpares(absl::Time now);

 private:
  void NoteSpare(uint32_t index, absl::Time now);

  std::map<uint32_t, absl::Time> spare_shards_;  // When each asked last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_SHARD_DUTY_H_
