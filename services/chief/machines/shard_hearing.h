// Whose silence tells of a shard, and whose of the chief: a shard is silent when it has not been
// heard of for its lease, and lost when, in addition, no process can believe any more that it may
// serve. A chief that has slept, or that hears of nobody, is cut off itself.
#ifndef CAPSTAN_CHIEF_MACHINES_SHARD_HEARING_H_
#define CAPSTAN_CHIEF_MACHINES_SHARD_HEARING_H_

#include "absl/time/time.h"
#include "capstan/v1/job.pb.h"
#include "chief/machines/shard_lease.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Thread-compatible.
class ShardHearing {
 public:
  explicit ShardHearing(const v1::JobSpec& spec);

  // Call it a few times a lease: it finds out whether this process has slept, or hears of nobody.
  void Listen(const ShardTable& shards, absl::Time now);

  // It has not been heard of for longer than its patience, counted from when this process was awake
  // again; or its process is known to have ended.
  bool IsSilent(const Shard& shard, absl::Time now) const;
  // Silence tells of a shard again: after this chief was cut off, whoever is alive has had as long
  // as ever to be heard of.
  bool Hears(absl::Time now) const { return now > deaf_until_ + patience_; }
  // It is silent, and its lease is over.
  bool IsLost(const Shard& shard, absl::Time now) const;

  // A shard that has not been heard of for longer is silent.
  absl::Duration patience() const { return patience_; }
  ShardLease& lease() { return lease_; }

 private:
  ShardLease lease_;
  absl::Duration patience_;
  absl::Time looked_at_ = absl::InfinitePast();    // When it listened last.
  absl::Time awake_since_ = absl::InfinitePast();  // Before it this process may have slept,
  absl::Time deaf_until_ = absl::InfinitePast();   // and before this it heard of no shard.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_SHARD_HEARING_H_
