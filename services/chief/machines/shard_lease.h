// The leases under which shards answer pulls in jobs with replicas. A backup takes over a partition
// only when the owner's process cannot believe any more that its lease is valid. See the rules 18,
// 40 to 42 and 46 of docs/spec.
#ifndef CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
#define CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"

namespace capstan::chief {

// Thread-compatible.
class ShardLease {
 public:
  // A chief considers its term valid for the length of a lease plus this, counted from when its
  // last successful write of the state began. While the store is unavailable for less than this,
  // leases are granted as usual; in exchange the next chief waits this much longer.
  static constexpr absl::Duration kStoreAway = absl::Seconds(10);

  // `lease` is zero if there are no replicas: then no lease is ever granted.
  explicit ShardLease(absl::Duration lease) : lease_(lease) {}

  // Assumes that a predecessor, whose term was last known to be valid just before `now`, may go on
  // granting leases to every process until its term has expired.
  void Inherit(absl::Time now);

  // Grants the process a lease. It lasts at most as long as this chief's term, which was last known
  // to be valid at `stood_at`: the next chief waits for the end of that term after it has claimed
  // its own. Returns the length in seconds; 0: none. The process counts it from when it sent its
  // request, which is earlier than `now`.
  double Grant(uint64_t incarnation, absl::Time stood_at, absl::Time now);
  // Assumes that the process has just been granted a lease. That may be so when it reports that it
  // has loaded a timeline: it keeps a lease that it had asked for before, even of another chief.
  void Await(uint64_t incarnation, absl::Time now);
  // How often a chief should confirm that its term is valid.
  absl::Duration renewal() const { return kStoreAway / 4; }

  // Returns true if the process cannot believe any more that it has a valid lease.
  bool IsOver(uint64_t incarnation, absl::Time now) const;
  // The process is known to have ended: nobody has to wait for its lease.
  void Forget(uint64_t incarnation) { until_[incarnation] = absl::InfinitePast(); }

  // A process that has been silent for this long has no lease.
  absl::Duration patience() const { return WithAllowance(lease_); }

 private:
  // Adds 2 %, as two clocks may run at slightly different speeds.
  static absl::Duration WithAllowance(absl::Duration time) { return time + time / 50; }
  absl::Duration term() const { return lease_ + kStoreAway; }
  void ForgetThoseOver(absl::Time now);

  absl::Duration lease_;
  absl::Time inherited_until_ = absl::InfinitePast();  // For processes that until_ does not name.
  std::map<uint64_t, absl::Time> until_;               // By incarnation.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
