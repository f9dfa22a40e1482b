// Leases work (tasks, lanes, evaluations) to trainers, and revokes the leases of those that are
// lost, drain, or cannot read their data.
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

  // Leases work to the worker's trainers, as far as there is some that they can do now.
  void Grant(Worker& worker, absl::Time now);
  // Fills in the leases that the worker should begin, and those that it has mentioned but does not
  // hold any more.
  void FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                 v1::WorkerHeartbeatReply& reply);

  // A draining worker gives all its leases back, but cannot mention those that it does not know of
  // yet. Returns reports that give these back, too; none if the worker does not drain.
  std::vector<v1::LeaseReport> Unmentioned(const v1::WorkerHeartbeatRequest& request,
                                           const Worker& worker);
  // Revokes all leases of the worker if it waits for its data for too long, and records whether it
  // still holds revoked leases.
  void Hear(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  // Revokes the leases of workers that have been silent for longer than their lease.
  void ReleaseSilent(absl::Time now);
  void Release(const std::vector<TrainerId>& trainers);

  // How many leases were revoked because their worker was lost, replaced, or could not read its
  // data.
  uint64_t expirations() const { return expirations_; }

 private:
  size_t TrainersWithoutWork() const;
  // Assigns the lanes, if anything has changed since the last call.
  void AssignLanes();
  void SeeDraining(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  bool Avoids(const Worker& worker, const WorkName& work) const;
  // Returns the leases without seals. Computing a seal takes a MAC, so it is done for those leases
  // only that are sent.
  std::vector<v1::Lease> LeasesOf(const Worker& worker);
  uint64_t SealOf(const v1::Lease& lease) const;

  // Numbers that change whenever the trainers that may be given lanes, the stragglers, or the
  // holders of lanes change.
  std::array<uint64_t, 3> LaneFacts() const;

  Generations generations_;
  uint64_t expirations_ = 0;
  std::optional<std::array<uint64_t, 3>> assigned_;  // LaneFacts at the last assignment of lanes.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_GRANT_DUTY_H_
