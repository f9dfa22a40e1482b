// Leases on which shards answer pulls, where partitions have replicas: a backup takes over when no
// process can believe any more that it may serve what the backup is given. See rule 18 of
// docs/spec.
#ifndef CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
#define CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// Thread-compatible.
class ShardLease {
 public:
  // Zero: there are no replicas, and nothing is ever granted.
  explicit ShardLease(absl::Duration lease) : lease_(lease) {}

  // What a predecessor may have granted to the shards of its view just before `now`.
  void Inherit(const v1::View& view, absl::Time now);

  // To the process, which counts from when it has asked: that is earlier. Returns the seconds.
  double Grant(uint64_t incarnation, absl::Time now);

  // The process believes in no lease any more.
  bool IsOver(uint64_t incarnation, absl::Time now) const;
  // It is known to have ended, so that nobody has to wait for its lease.
  void Forget(uint64_t incarnation) { until_.erase(incarnation); }

  // Whoever is silent for so long has no lease.
  absl::Duration patience() const { return lease_ + Margin(); }

 private:
  // Two clocks do not go at quite the same speed.
  absl::Duration Margin() const { return lease_ / 50; }
  void ForgetThoseOver(absl::Time now);

  absl::Duration lease_;
  std::map<uint64_t, absl::Time> until_;  // By incarnation.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
