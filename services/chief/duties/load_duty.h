// Has the shards load in a recovery. Each is called once a published view names it, and then polled
// until it is done.
#ifndef CAPSTAN_CHIEF_DUTIES_LOAD_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_LOAD_DUTY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class LoadDuty : public Duty {
 public:
  using Duty::Duty;

  void Send();
  // Handles the answer if the call was to load for a recovery. Returns true if the shard has now
  // loaded all that it had to. If the shard has found the checkpoint damaged, the recovery tries
  // the one before.
  bool OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

 private:
  bool IsDue(uint32_t shard) const;
  void SendTo(uint32_t shard, absl::Time due);
  v1::PartialRecoveryStart PartialRecoveryStart() const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_LOAD_DUTY_H_
