// Decides when the parameters are evaluated, and what follows from the result: a warning, a
// checkpoint of the best parameters so far, an early stop.
#ifndef CAPSTAN_CHIEF_DUTIES_EVALUATION_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_EVALUATION_DUTY_H_

#include "absl/time/time.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class EvaluationDuty : public Duty {
 public:
  using Duty::Duty;

  // REQUIRES: the job is running, and its shards are there.
  void Advance(absl::Time now);

 private:
  void Take(absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_EVALUATION_DUTY_H_
