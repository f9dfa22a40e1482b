// What the next chief goes on from, and what others hear of: the state is stored, and views are
// published, after it where they must be (ViewGate).
#ifndef CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

class StateDuty : public Duty {
 public:
  using Duty::Duty;

  // Goes on from the state of the job as this chief has claimed it.
  void Inherit(const v1::ChiefState& state, absl::Time now);

  // Makes the view anew, and publishes it and stores the state as far as they are due.
  void RefreshView(absl::Time now);
  // The same where nothing but the leases of this worker has changed: it is cheap if none of its
  // trainers begins or ceases to train.
  void RefreshViewOf(const Worker& worker, absl::Time now);
  void OnStored(const absl::Status& stored, absl::Time now);
  // What is to be done, in order, since the last call. Of a chief that another has superseded
  // nobody hears anything any more: what it logs is all.
  std::vector<Action> TakeActions();

 private:
  // Whoever holds work trains, and nobody else. Looks at those whose leases have changed hands
  // since it did so last, or at all where a worker has come.
  void BeginAndEndTraining(absl::Time now);
  std::vector<Trainer*> ThoseWhoBeginOrEnd();
  void StoreAndPublish(absl::Time now);
  bool BeginsOrEnds(const Trainer& trainer) const;
  void StartCheckpointClock(absl::Time now);
  void InheritShards(const v1::ChiefState& state);
  v1::ChiefState State(absl::Time now) const;

  uint64_t seen_ = 0;     // Workers that had come when ThoseWhoBeginOrEnd looked last.
  v1::ChiefState claim_;  // Where this chief answers, and since when it has the job.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_
