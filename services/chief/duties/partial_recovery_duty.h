// One shard back to a checkpoint while the others go on (recovery: partial). Leases, timeline and
// progress stay. The shard is told what has happened since the checkpoint; what it finds missing by
// that is lost, and counted: an upper bound. See the rules 8 to 10 of docs/spec.
#ifndef CAPSTAN_CHIEF_DUTIES_PARTIAL_RECOVERY_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_PARTIAL_RECOVERY_DUTY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class PartialRecoveryDuty : public Duty {
 public:
  using Duty::Duty;

  // REQUIRES: JobContext::MayRecoverPartially.
  void Begin(uint32_t shard, absl::Time now);
  // By this answer a shard has loaded what it owns; it may be one that returns with everybody.
  void OnLoaded(const ShardCalls::Answer& answer, absl::Time now);
  // Tells of a log of closed streams that is not whole, and gives up what needs it.
  void Advance(absl::Time now);
  // Takes in what the shard counts as lost.
  void Hear(uint32_t shard, const v1::ShardReport& report);
  // What has happened since is known for the last checkpoint alone: from an earlier one everybody
  // begins again, and the first of the shards is named as the cause. REQUIRES: there is one.
  void GiveUp(const absl::Status& why, absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PARTIAL_RECOVERY_DUTY_H_
