// Who is given which work: tasks, lanes and evaluations are leased to trainers, and taken from
// those that are lost, drain, or cannot read their data.
#ifndef CAPSTAN_CHIEF_DUTIES_GRANT_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_GRANT_DUTY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"
#include "chief/work/accusations.h"
#include "chief/work/generations.h"

namespace capstan::chief {

class GrantDuty : public Duty {
 public:
  GrantDuty(JobContext& job, Orders& orders) : Duty(job, orders), generations_(job.options.term) {}

  // Gives the worker's trainers what they can do now.
  void Grant(Worker& worker, absl::Time now);
  // What the worker, which is known, is to begin with, and what it holds no longer.
  void FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                 v1::WorkerHeartbeatReply& reply);

  // A worker that drains gives back what it has not heard of, too: the reports by which it does.
  // None of one that does not drain.
  std::vector<v1::LeaseReport> Unmentioned(const v1::WorkerHeartbeatRequest& request,
                                           const Worker& worker);
  // Takes what the worker holds if its data do not come, and notes whether it still holds some of
  // the leases that were taken back.
  void Hear(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  // Takes what workers hold that have not been heard of for their lease.
  void ReleaseSilent(absl::Time now);
  void Release(const std::vector<TrainerId>& trainers);

  // Leases whose worker was lost or replaced.
  uint64_t expirations() const { return expirations_; }

 private:
  size_t TrainersWithoutWork() const;
  // Does nothing where nothing has changed since it was called last.
  void AssignLanes();
  void SeeDraining(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  bool Avoids(const Worker& worker, const WorkName& work) const;
  std::vector<v1::Lease> LeasesOf(const Worker& worker);
  uint64_t SealOf(const v1::Lease& lease) const;

  // Who may be given lanes, who of them are slow, and who has the lanes.
  std::array<uint64_t, 3> LaneFacts() const;

  Generations generations_;
  uint64_t expirations_ = 0;
  std::optional<std::array<uint64_t, 3>> assigned_;  // LaneFacts when lanes were assigned last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_GRANT_DUTY_H_
