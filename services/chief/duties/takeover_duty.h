// A chief that goes on with a running job: it waits for the shards that its predecessor left at
// work, and decides what becomes of those that have come back without what they had. See Takeover.
#ifndef CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_

#include "absl/time/time.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class TakeoverDuty : public Duty {
 public:
  using Duty::Duty;

  // Does nothing unless the job is RUNNING. PENDING afterwards: the map is over, and another is to
  // be made.
  void Advance(absl::Time now);

 private:
  bool MapIsOver(absl::Time now) const;
  bool AnotherMapMayCome(absl::Time now) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_TAKEOVER_DUTY_H_
