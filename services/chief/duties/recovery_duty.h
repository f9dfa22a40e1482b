// Everybody back to a checkpoint, in a new timeline, and on from there; the start of a job is such
// a way to the initial values. See Recovery; LoadDuty has the shards load.
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

  // REQUIRES: the job is PENDING. Orders the way to the first values, or back to a checkpoint, once
  // the shards of the next map are there.
  void Start(absl::Time now);
  // See Orders::ReturnToCheckpoint. REQUIRES: nothing moves, and no backup is taking over.
  void Return(std::string_view cause, uint32_t shard, absl::Time now);
  void Advance(absl::Time now);
  void OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                      absl::Time now);

 private:
  void EnterTimeline(absl::Time now);
  absl::Status CheckFit(const std::set<uint32_t>& shards) const;
  void RestoreProgress(const v1::Manifest& manifest, absl::Time now);
  void End(absl::Time now);

  v1::RecoveryLoss loss_;  // What the return under way has lost.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_RECOVERY_DUTY_H_
