// Shards come and go: who has joined, who may leave, and what becomes of partitions whose shard was
// to leave and has not come back.
#ifndef CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class MemberDuty : public Duty {
 public:
  using Duty::Duty;

  // Those that own nothing join, and are forgotten when they are silent or may leave.
  void Advance(absl::Time now);
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

  // The others return to a checkpoint without those that were to leave and have not come back.
  // True: so it is.
  bool GiveUpThoseThatLeft(absl::Time now);
  // Likewise where the job was on its way to a checkpoint: it goes there over all that are there.
  void RestoreWithoutThoseThatLeft(absl::Time now);

  // The shard has nothing that anybody misses.
  bool MayLeave(uint32_t shard, absl::Time now) const;
  // One that is to leave has been heard of a moment ago.
  bool SeesShardsOff(absl::Time now) const;
  // Of this process of a shard; empty: it is not known, or known to be gone.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const;

  // A shard with an index for which there is no partition has asked to register.
  void NoteSpare(uint32_t index, absl::Time now);
  void WatchSpares(absl::Time now);

 private:
  bool IsFree(uint32_t shard) const;
  void Admit(const Shard& shard);
  std::set<uint32_t> ShardsThatLeft(absl::Time now) const;

  std::map<uint32_t, absl::Time> spare_shards_;  // When each asked last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MEMBER_DUTY_H_
