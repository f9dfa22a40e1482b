// Has single shards return to a checkpoint while the others continue (recovery: partial). Leases,
// timeline and progress are kept. The shard is told which streams are open and which were closed
// since the checkpoint. The batches that its partitions lack according to that are lost, and
// counted: the count is an upper bound. See the rules 8 to 10 of docs/spec.
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

  // Has the shard return to the last checkpoint. REQUIRES: JobContext::MayRecoverPartially.
  void Begin(uint32_t shard, absl::Time now);
  // The shard of `answer` has loaded what it owns. Does nothing if all shards return together.
  void OnLoaded(const ShardCalls::Answer& answer, absl::Time now);
  // Warns if the log of closed streams is not whole, and then gives up partial recoveries, which
  // need it.
  void Advance(absl::Time now);
  // Takes in how many batches the shard has counted as lost.
  void Hear(uint32_t shard, const v1::ShardReport& report);
  // Has all shards return to a checkpoint. Called when the shards that recover alone cannot use the
  // last checkpoint, because the log of closed streams begins there and not at an earlier one. The
  // cause names the first of these shards. REQUIRES: a shard recovers alone.
  void GiveUp(const absl::Status& why, absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PARTIAL_RECOVERY_DUTY_H_
