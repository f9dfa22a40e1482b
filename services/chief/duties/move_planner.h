// Decides which partitions move, and which are given a backup: makes the plan that PartitionMoves
// carries out. Used by MoveDuty alone. See Balance, Pairing, PlanMoves and PlanReplicas.
#ifndef CAPSTAN_CHIEF_DUTIES_MOVE_PLANNER_H_
#define CAPSTAN_CHIEF_DUTIES_MOVE_PLANNER_H_

#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"
#include "chief/machines/balance.h"
#include "chief/machines/move_plan.h"
#include "chief/machines/pairing.h"
#include "chief/machines/replica_plan.h"

namespace capstan::chief {

class MovePlanner : public Duty {
 public:
  MovePlanner(JobContext& job, Orders& orders);

  // Takes in which shards are present.
  void See(absl::Time now);
  // Makes a plan if there is a reason for one. REQUIRES: no batch is under way.
  void Plan(absl::Time now);
  // The plan was carried out, or given up.
  void OnCarriedOut() { balance_.OnCarriedOut(); }
  void OnGivenUp() {
    balance_.OnGivenUp();
    pairing_.SpreadAnew();
  }

  // Returns the moves that would balance the shards, and requests them unless plan_only is set.
  // FAILED_PRECONDITION: the job is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(const v1::RebalanceRequest& request, absl::Time now);

  // Warns if partitions have been without a backup for long.
  void WatchReplicas(absl::Time now);

 private:
  MoveQuestion QuestionOf(bool even, std::set<uint32_t> takers) const;
  ReplicaQuestion ReplicaQuestionOf() const;
  void PlanMoves(absl::Time now);
  void PlanReplicas(absl::Time now);

  Balance balance_;
  Pairing pairing_;
  absl::Time unpaired_since_ = absl::InfiniteFuture();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MOVE_PLANNER_H_
