// Has the streams of finished tasks closed on every shard: see StreamCloses. No close begins while
// partitions are about to change their owner. None is sent while a checkpoint is being taken, as
// that must contain the streams of the tasks that are unfinished according to its own progress.
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
  // Handles the answer if the call was to close streams.
  void OnAnswer(const ShardCalls::Answer& answer);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CLOSE_DUTY_H_
