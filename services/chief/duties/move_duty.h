// Partitions move between shards, and are given backups, a batch at a time: a view orders the
// batch, its sources copy, stand still, and another view names the new owners. See PartitionMoves.
#ifndef CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/duties/move_planner.h"
#include "chief/machines/move_plan.h"

namespace capstan::chief {

class MoveDuty : public Duty {
 public:
  using Duty::Duty;

  // Cancels the batch under way where it cannot go on, or something else comes first. True: it has.
  bool CancelIfHindered(absl::Time now);
  // True: the view is to be made anew, and there may be more to do once it is published. `plans`:
  // something may be different about the shards.
  bool Step(bool plans, absl::Time now);
  // See Orders::CancelMoves.
  void Cancel(const absl::Status& why, absl::Time now);

  MovePlanner& planner() { return planner_; }

 private:
  absl::Status WhatComesFirst(absl::Time now) const;
  absl::Status Failure(absl::Time now) const;
  bool MaySwitch() const;
  void OnSwitched(absl::Time now);
  bool MayMove(absl::Time now) const;
  void Order(absl::Time now);
  bool HandsOver(const PlannedMove& move) const;

  MovePlanner planner_{*job_, *orders_};
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_
