// Stops and resumes training. A job with lanes stands still for an evaluation, while partitions
// change their owner, until a checkpoint is marked everywhere, and to find out whether the last
// round of max_steps is closed. A job with tasks stands still for an evaluation that decides which
// parameters are the result. Both stand still until the best parameters so far are saved.
#ifndef CAPSTAN_CHIEF_DUTIES_STANDSTILL_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_STANDSTILL_DUTY_H_

#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class StandstillDuty : public Duty {
 public:
  using Duty::Duty;

  // REQUIRES: the job is running, and its shards are there.
  void Advance(absl::Time now);
  // Handles the answer if the call was to hold rounds.
  void OnAnswer(const ShardCalls::Answer& answer);
  // Must be called after answers of shards. When a round barrier has just been reached, sets the
  // cursors of the lanes to those of the coordinator.
  void SeeBarrier();

 private:
  bool LastRoundIsTold() const;
  void Seek(absl::Time now);
  void GiveUpBest(absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STANDSTILL_DUTY_H_
