// Which shards and workers of its predecessor a chief that takes over a running job has not heard
// of yet. The chief grants no lease until all these shards are back. It grants nothing that one of
// these workers may hold until it has heard of all of them or their leases have expired.
#ifndef CAPSTAN_CHIEF_STATE_TAKEOVER_H_
#define CAPSTAN_CHIEF_STATE_TAKEOVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Thread-compatible.
class Takeover {
 public:
  // For a job that no earlier chief has run: there is nobody to wait for.
  Takeover() = default;
  // `view` is the last view of the predecessor, `patience` the length of a worker's lease.
  Takeover(const v1::View& view, absl::Duration patience, absl::Time now);

  // ---- shards that own partitions ----

  enum class Shards {
    kAwaited,  // Some have not been heard of; the others are unchanged.
    kBack,     // All serve what the view says.
    kChanged,  // At least one is back without the partitions that the view says it has.
  };
  Shards shards(const ShardTable& table) const;
  // Return the shards that are back without what they had, and those not heard of yet.
  std::set<uint32_t> Changed(const ShardTable& table) const;
  std::set<uint32_t> Awaited(const ShardTable& table) const;
  // Returns true if every shard that has been heard of is back without what it had.
  bool AllChanged(const ShardTable& table) const;
  // Stops waiting for `shard`. The processes `incarnations` (by shard index), which have been heard
  // of, take over what it served.
  void Replace(uint32_t shard, const std::map<uint32_t, uint64_t>& incarnations);
  // Stops waiting for any shard, whatever the result.
  void Settle() { shards_.clear(); }
  bool settled() const { return shards_.empty(); }

  // ---- workers ----

  // The worker has reported the leases that it holds.
  void OnReport(const std::string& worker) { workers_.erase(worker); }
  bool Awaits(const std::string& worker) const { return workers_.contains(worker); }
  // Returns true once the leases of all workers that have not come back have expired.
  bool patience_over(absl::Time now) const { return now >= until_; }
  // Returns true if the chief waits for no worker any more.
  bool complete(absl::Time now) const { return workers_.empty() || now >= until_; }

 private:
  bool IsChanged(const Shard& shard, uint64_t incarnation) const;

  std::map<uint32_t, uint64_t> shards_;  // Index -> incarnation.
  uint64_t timeline_ = 0;
  std::set<std::string> workers_;
  absl::Time until_ = absl::InfinitePast();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_TAKEOVER_H_
