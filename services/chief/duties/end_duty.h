// The way out, step by step: see EndStep.
#ifndef CAPSTAN_CHIEF_DUTIES_END_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_END_DUTY_H_

#include <string_view>

#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/machines/end_sequence.h"

namespace capstan::chief {

class EndDuty : public Duty {
 public:
  using Duty::Duty;

  // Ends the job early, in order: what has been trained is evaluated, if anybody is there to do it,
  // and saved. One that has not begun fails; one whose training is complete waits for nobody any
  // more. `reason`: for people; empty: somebody has asked for it. The first one counts.
  void Stop(std::string_view reason);
  // Once the end has begun (JobContext::BeginEnd) every step is taken that is possible.
  void Advance(absl::Time now);
  // Completes the job if its model is stored, whatever else is going on.
  void CompleteIfSaved(absl::Time now);

 private:
  bool StepDone(absl::Time now);
  void EnterStep(EndStep step, absl::Time now);
  bool Evaluated(absl::Time now);
  void GiveUpEvaluation();
  bool SaveModel(absl::Time now);
  const CheckpointFacts* BetterCheckpoint() const;
  void Complete(absl::Time now);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_END_DUTY_H_
