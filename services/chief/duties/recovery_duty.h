// Returns all shards to a checkpoint, in a new timeline, from which the job continues. The start of
// a job is a recovery, too: to the initial values. See Recovery; LoadDuty has the shards load.
#ifndef CAPSTAN_CHIEF_DUTIES_RECOVERY_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_RECOVERY_DUTY_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class RecoveryDuty : public Duty {
 public:
  using Duty::Duty;

  // Once the shards of the next map are present, begins the recovery to a checkpoint or to the
  // initial values. REQUIRES: the job is PENDING.
  void Start(absl::Time now);
  // See Orders::ReturnToCheckpoint. REQUIRES: no partition is moving, and no backup is taking over.
  void Return(std::string_view cause, uint32_t shard, absl::Time now);
  // The recovery that has just begun is one of Orders::GoOnFromCheckpoint.
  void GoesOn() { goes_on_ = true; }
  void Advance(absl::Time now);
  void OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                      absl::Time now);

 private:
  void EnterTimeline(absl::Time now);
  absl::Status CheckFit(const std::set<uint32_t>& shards) const;
  void RestoreProgress(const v1::Manifest& manifest, absl::Time now);
  void End(absl::Time now);

  v1::RecoveryLoss loss_;  // What the recovery under way has lost.
  bool goes_on_ = false;   // The job continues after all of its processes had ended.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_RECOVERY_DUTY_H_
