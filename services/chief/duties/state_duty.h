// Stores the state, from which the next chief continues, and publishes the views. Some views must
// be stored before they are published (see ViewGate).
#ifndef CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

class StateDuty : public Duty {
 public:
  using Duty::Duty;

  // Continues from `state`, which is as this chief has claimed it.
  void Inherit(const v1::ChiefState& state, absl::Time now);

  // Rebuilds the view. Stores the state if that is due, and publishes the view if it may be.
  void RefreshView(absl::Time now);
  // The same if nothing but the leases of `worker` has changed. It is cheap unless one of its
  // trainers begins or stops training.
  void RefreshViewOf(const Worker& worker, absl::Time now);
  void OnStored(const absl::Status& stored, absl::Time now);
  // Returns the actions since the last call, in order. A chief that was superseded by another one
  // only logs.
  std::vector<Action> TakeActions();

 private:
  // Marks exactly the trainers that hold work as training; under ssp, those that hold none any more
  // may stay marked for a moment. Examines only trainers whose work has changed since the last
  // call, or all trainers if a worker has registered.
  void BeginAndEndTraining(absl::Time now);
  std::vector<Trainer*> ThoseWhoBeginOrEnd();
  void StoreAndPublish(absl::Time now);
  bool BeginsOrEnds(const Trainer& trainer) const;
  void StartCheckpointClock(absl::Time now);
  void InheritClaim(const v1::ChiefState& state);
  void InheritProgress(const v1::ChiefState& state, bool same_data, absl::Time now);
  void InheritEnd(const v1::ChiefState& state, absl::Time now);
  void InheritRun(const v1::ChiefState& state, absl::Time now);
  void InheritShards(const v1::ChiefState& state);
  void InheritEvaluations(const v1::ChiefState& state);
  v1::ChiefState State(absl::Time now) const;

  // Under ssp: the trainers that leave the quorum with the next view that is made because trainers
  // come or go. Before `next_leave_` no view is made only because trainers go.
  std::vector<TrainerId> leaving_;
  absl::Time next_leave_ = absl::InfinitePast();
  uint64_t seen_ = 0;     // How many workers had registered at the last ThoseWhoBeginOrEnd.
  v1::ChiefState claim_;  // The fields that are always stored as this chief has claimed them.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_
