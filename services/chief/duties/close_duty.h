// Closes the streams of tasks that are done on every shard: see StreamCloses. Nothing is begun
// while partitions are about to change their owner, and nothing sent while a checkpoint is being
// taken: what it restores must still know what belongs to tasks that it does not hold.
#ifndef CAPSTAN_CHIEF_DUTIES_CLOSE_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_CLOSE_DUTY_H_

#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class CloseDuty : public Duty {
 public:
  using Duty::Duty;

  // REQUIRES: the job is running, and its shards are there.
  void Advance();
  // Takes the answer in if it is that a shard has closed what it was sent.
  void OnAnswer(const ShardCalls::Answer& answer);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CLOSE_DUTY_H_
