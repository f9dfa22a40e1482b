// For a chief that takes over a running job: waits for the shards that its predecessor left at
// work, and decides what happens if some come back without what they had. See Takeover.
#ifndef CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_

#include "absl/time/time.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class TakeoverDuty : public Duty {
 public:
  using Duty::Duty;

  // Does nothing unless the job is RUNNING. Makes it PENDING if the present map cannot be used any
  // more and another one has to be made.
  void Advance(absl::Time now);

 private:
  bool MapIsOver(absl::Time now) const;
  bool AnotherMapMayCome(absl::Time now) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_
