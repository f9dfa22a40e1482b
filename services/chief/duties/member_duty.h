// Shards come and go: who has joined, who may leave, and what becomes of partitions whose shard was
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

  // Those that own nothing join, and are forgotten when they are silent or may leave.
  void Advance(absl::Time now);
  // Takes the answer in if it is one to a join.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

  // The others return to a checkpoint without those that were to leave and have not come back.
  void GiveUpThoseThatLeft(absl::Time now);
  // Likewise where the job is RESTORING: it goes to the checkpoint over all that are there.
  void RestoreWithoutThoseThatLeft(absl::Time now);

  // The shard has nothing that anybody misses.
  bool MayLeave(uint32_t shard, absl::Time now) const;

 private:
  bool IsFree(uint32_t shard) const;
  void Admit(const Shard& shard);
  std::set<uint32_t> ShardsThatLeft(absl::Time now) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_
