// Stores the state, from which the next chief goes on, and publishes the views. Some views must be
// stored before they are published (ViewGate).
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

  // Goes on from `state`, as this chief has claimed it.
  void Inherit(const v1::ChiefState& state, absl::Time now);

  // Makes the view anew. Stores the state if that is due, and publishes the view if it may be.
  void RefreshView(absl::Time now);
  // The same if nothing has changed but the leases of `worker`: cheap if none of its trainers
  // begins or ceases to train.
  void RefreshViewOf(const Worker& worker, absl::Time now);
  void OnStored(const absl::Status& stored, absl::Time now);
  // Returns what is to be done, in order, since the last call. A chief that another one has
  // superseded does nothing any more but log.
  std::vector<Action> TakeActions();

 private:
  // Has the trainers that hold work, and no others, count as training; under ssp, those that hold
  // none any more perhaps a moment longer. Looks only at trainers whose
  // work has changed since the last call, or at all if a worker has registered.
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

  // ssp: trainers that are to leave the quorum with the next view that is made because trainers
  // come or go; and from when on one is made for those that go, though none comes.
  std::vector<TrainerId> leaving_;
  absl::Time next_leave_ = absl::InfinitePast();
  uint64_t seen_ = 0;  // How many workers had registered when ThoseWhoBeginOrEnd was called last.
  v1::ChiefState claim_;  // The fields that are stored as this chief has claimed them.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STATE_DUTY_H_
