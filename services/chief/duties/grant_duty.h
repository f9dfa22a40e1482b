// Leases work to trainers (tasks, lanes, evaluations), and takes it from those that are lost,
// drain, or cannot read their data.
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

  // Leases work to the worker's trainers, as far as there is any that they can do now.
  void Grant(Worker& worker, absl::Time now);
  // Fills in the leases that the worker is to begin with, and those that it mentions and does not
  // hold any more.
  void FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                 v1::WorkerHeartbeatReply& reply);

  // A draining worker gives all its leases back, but cannot mention those that it has not heard of
  // yet. Returns reports that give these back, too; none if the worker does not drain.
  std::vector<v1::LeaseReport> Unmentioned(const v1::WorkerHeartbeatRequest& request,
                                           const Worker& worker);
  // Takes all leases of the worker if its data do not come, and notes whether it still holds leases
  // that were taken back.
  void Hear(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  // Takes the leases of workers that have been silent for longer than their lease.
  void ReleaseSilent(absl::Time now);
  void Release(const std::vector<TrainerId>& trainers);

  // How many leases were taken because their worker was lost, replaced, or could not read its data.
  uint64_t expirations() const { return expirations_; }

 private:
  size_t TrainersWithoutWork() const;
  // Assigns the lanes; does nothing if nothing has changed since the last call.
  void AssignLanes();
  void SeeDraining(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  bool Avoids(const Worker& worker, const WorkName& work) const;
  // Without seals, each of which is a MAC: they are for those that are sent.
  std::vector<v1::Lease> LeasesOf(const Worker& worker);
  uint64_t SealOf(const v1::Lease& lease) const;

  // Numbers that change when other trainers may be given lanes, others are stragglers, or lanes
  // have other holders.
  std::array<uint64_t, 3> LaneFacts() const;

  Generations generations_;
  uint64_t expirations_ = 0;
  std::optional<std::array<uint64_t, 3>> assigned_;  // LaneFacts when lanes were assigned last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_GRANT_DUTY_H_
