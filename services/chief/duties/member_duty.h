// Lets shards join and leave, and decides what happens to the partitions of a shard that was about
// to leave and has not come back.
#ifndef CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_

#include <cstdint>
#include <set>

#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class MemberDuty : public Duty {
 public:
  using Duty::Duty;

  // Lets shards that own nothing join. Removes them from the members when they are lost or may
  // leave, and forgets those that are lost.
  void Advance(absl::Time now);
  // Handles the answer if the call told a joining shard the timeline.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

  // If shards that own partitions were about to leave and have not come back, the others return to
  // a checkpoint without them.
  void GiveUpThoseThatLeft(absl::Time now);
  // The same for a job that is RESTORING: it restores with all shards that are present.
  void RestoreWithoutThoseThatLeft(absl::Time now);

  // Returns true if the shard may end, because nothing would be lost.
  bool MayLeave(uint32_t shard, absl::Time now) const;

 private:
  bool IsFree(uint32_t shard) const;
  void Admit(const Shard& shard);
  void TellTimeline(uint32_t shard, absl::Time due);
  std::set<uint32_t> ShardsThatLeft(absl::Time now) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_
