// Records the progress of training, and begins the end of the job when all is trained, max_steps
// are done, or a person or an evaluation has stopped the job.
#ifndef CAPSTAN_CHIEF_DUTIES_TRAINING_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_TRAINING_DUTY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class TrainingDuty : public Duty {
 public:
  using Duty::Duty;

  // REQUIRES: the job is running, and its shards are there.
  void Advance(absl::Time now);
  // Adds a point to the learning curve if one is due (Progress::TakeCurveDue) and a loss is known.
  void DrawCurve(absl::Time now);

 private:
  uint64_t SureSteps(uint64_t steps) const;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_TRAINING_DUTY_H_
