// Moves partitions between shards and gives them backups, a batch at a time: a view orders the
// batch, its sources copy, freeze, and another view names the new owners. See PartitionMoves.
#ifndef CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/duties/move_planner.h"
#include "chief/machines/move_plan.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class MoveDuty : public Duty {
 public:
  using Duty::Duty;

  // Cancels the batch under way if it cannot continue, or something else has priority. Otherwise
  // continues it or begins another, as far as the published view allows. Makes a new plan only if
  // shards were heard of since the last call.
  void Advance(absl::Time now);
  // Handles the answer if the call was to move partitions.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);
  // See Orders::CancelMoves.
  void Cancel(const absl::Status& why, absl::Time now);

  MovePlanner& planner() { return planner_; }

 private:
  bool CancelIfHindered(absl::Time now);
  bool Step(bool plans, absl::Time now);
  absl::Status WhatComesFirst(absl::Time now) const;
  absl::Status Failure(absl::Time now) const;
  void FinishIfPossible(absl::Time now);
  bool MaySwitch() const;
  void OnSwitched(absl::Time now);
  bool MayMove(absl::Time now) const;
  void Order(absl::Time now);
  bool HandsOver(const PlannedMove& move) const;

  MovePlanner planner_{*job_, *orders_};
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MOVE_DUTY_H_
