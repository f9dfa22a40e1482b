// Distinguishes a silent shard from a chief that is cut off. A shard is silent when the chief has
// not heard of it for the length of its lease. It is lost when, in addition, its process cannot
// believe any more that its lease is valid. A chief whose process was suspended, or that hears of
// no shard at all, is cut off itself, and declares no shard lost.
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

  // Detects whether this process was suspended, or hears of no shard. Must be called several times
  // per lease, as a long time without a call counts as suspension.
  void Listen(const ShardTable& shards, absl::Time now);

  // Returns true if the shard has not been heard of for longer than patience(), not counting the
  // time before this process resumed; or if the shard's process is known to have ended.
  bool IsSilent(const Shard& shard, absl::Time now) const;
  // Returns true if this chief was not cut off within the last patience(): every live shard has had
  // time to be heard of, so that a silent one can be judged.
  bool Hears(absl::Time now) const { return now > deaf_until_ + patience_; }
  // Returns true if the shard's process is known to have ended; or if the chief Hears(), and the
  // shard is silent and its lease over.
  bool IsLost(const Shard& shard, absl::Time now) const;

  // A shard that is not heard of for longer than this is silent.
  absl::Duration patience() const { return patience_; }
  ShardLease& lease() { return lease_; }

 private:
  ShardLease lease_;
  absl::Duration patience_;
  absl::Time looked_at_ = absl::InfinitePast();    // When Listen was called last.
  absl::Time awake_since_ = absl::InfinitePast();  // This process may have been suspended before;
  absl::Time deaf_until_ = absl::InfinitePast();   // it heard of no shard until this time.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_SHARD_HEARING_H_
