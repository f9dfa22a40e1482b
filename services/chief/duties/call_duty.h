// The calls to shards, whichever duty asks for them: what is due is sent, whose answers count, and
// when refusals fail the job. See ShardCalls. What an answer brings about is decided by the duty
// that has asked.
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

  // Sends the calls that are due, by the view that is published.
  void Send(absl::Time now);
  // The answer, for the duty that has asked. Nothing: the attempt has failed and is repeated, or
  // another process has come since in the place of the one that has answered.
  std::optional<ShardCalls::Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply,
                                            absl::Time now);
  // Fails the job when a shard keeps refusing what it is asked.
  void CheckRefusal();
  // When to send again, at the latest, what cannot wait for the next tick.
  absl::Time NextWake() const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CALL_DUTY_H_
