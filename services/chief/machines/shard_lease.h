// The leases on which shards answer pulls where partitions have replicas. A backup takes over a
// partition only when the owner's process cannot believe any more that it may serve it. See the
// rules 18, 40 to 42 and 46 of docs/spec.
#ifndef CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
#define CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"

namespace capstan::chief {

// Thread-compatible.
class ShardLease {
 public:
  // A chief takes its term to stand for a lease and so much longer from when it last began to write
  // its state with success. While the store is away for less, leases are granted as ever; in turn
  // the next chief waits for so much longer.
  static constexpr absl::Duration kStoreAway = absl::Seconds(10);

  // `lease` is zero if there are no replicas: then nothing is ever granted.
  explicit ShardLease(absl::Duration lease) : lease_(lease) {}

  // Assumes that a predecessor, whose term was last known to stand just before `now`, goes on
  // granting leases to every process for as long as it may, whatever this chief grants them.
  void Inherit(absl::Time now);

  // Grants the process a lease, or what is left of this chief's term since `stood_at`, when the
  // term was last known to stand, if that is less: the next chief waits for all of it from when it
  // claims its own. Returns the length in seconds; 0: none. The process counts it from when it has
  // asked, which is earlier than `now`.
  double Grant(uint64_t incarnation, absl::Time stood_at, absl::Time now);
  // Assumes that the process has just been granted a lease. So it may be when it says that it has
  // loaded a timeline: it keeps what it had asked for before, whoever the chief was.
  void Await(uint64_t incarnation, absl::Time now);
  // So often a chief finds out whether its term stands.
  absl::Duration renewal() const { return kStoreAway / 4; }

  // Returns true if the process cannot believe any more that it has a lease.
  bool IsOver(uint64_t incarnation, absl::Time now) const;
  // The process is known to have ended: nobody has to wait for its lease.
  void Forget(uint64_t incarnation) { until_[incarnation] = absl::InfinitePast(); }

  // A process that has been silent for so long has no lease.
  absl::Duration patience() const { return WithAllowance(lease_); }

 private:
  // Allows for two clocks that do not go at quite the same speed.
  static absl::Duration WithAllowance(absl::Duration time) { return time + time / 50; }
  absl::Duration term() const { return lease_ + kStoreAway; }
  void ForgetThoseOver(absl::Time now);

  absl::Duration lease_;
  absl::Time inherited_until_ = absl::InfinitePast();  // For processes that until_ does not name.
  std::map<uint64_t, absl::Time> until_;               // By incarnation.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_SHARD_LEASE_H_
