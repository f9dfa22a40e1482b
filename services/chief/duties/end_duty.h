// Ends the job step by step: see EndStep.
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

  // Ends the job early but properly: the model as trained so far is saved, after an evaluation if a
  // worker is present that can do it. A job that has not begun fails. If its training is complete,
  // it waits for such a worker for a lease at most. `reason` is for people; if it is empty, the
  // text says that somebody has asked for it. Only the first call has an effect.
  void Stop(std::string_view reason);
  // Does all steps that are possible, once the end has begun (JobContext::BeginEnd).
  void Advance(absl::Time now);
  // Completes the job if its model is stored, whatever else is under way.
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
