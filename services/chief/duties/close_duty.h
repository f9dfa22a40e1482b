// Closes the streams of tasks that are done on every shard: see StreamCloses. No close is begun
// while partitions are about to change their owner. None is sent while a checkpoint is being taken:
// the checkpoint must still know the streams of tasks that are not done by its own progress.
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
  // Takes the answer in if shards have closed streams.
  void OnAnswer(const ShardCalls::Answer& answer);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CLOSE_DUTY_H_
