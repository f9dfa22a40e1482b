// When training stands still: lanes for an evaluation, for partitions that change their owner,
// until a checkpoint is marked everywhere, and to see whether the last round of max_steps is
// closed; tasks for an evaluation that decides. Both do until what is the best so far is saved.
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
  // Takes the answer in if it is that the coordinator holds the rounds.
  void OnAnswer(const ShardCalls::Answer& answer);
  // Shards may have answered: at a round barrier that has just been reached, lanes stand where the
  // coordinator says.
  void SeeBarrier();

 private:
  bool LastRoundIsTold() const;
  void Seek(absl::Time now);
  void GiveUpBest(absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STANDSTILL_DUTY_H_
