// Sends the calls to shards that the duties have asked for (see ShardCalls), discards answers that
// are out of date, and fails the job when a shard keeps refusing a call. The duty that asked for a
// call handles the answer.
#ifndef CAPSTAN_CHIEF_DUTIES_CALL_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_CALL_DUTY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/state/chief_actions.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class CallDuty : public Duty {
 public:
  using Duty::Duty;

  // Sends the calls that are due, to the addresses in the published view.
  void Send(absl::Time now);
  // Ends an attempt, and returns the answer for the duty that has asked. Returns nullopt if the
  // attempt has failed and is repeated, or if the process that has answered was replaced.
  std::optional<ShardCalls::Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply,
                                            absl::Time now);
  // Fails the job if a shard keeps refusing a call.
  void CheckRefusal();
  // Returns when the next call is due that cannot wait for the next tick.
  absl::Time NextWake() const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CALL_DUTY_H_
