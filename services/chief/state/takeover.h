// Whom a chief that goes on with a running job has not heard of yet: the shards and workers that
// its predecessor left at work. It grants nothing until these shards are back, and nothing that one
// of these workers may hold until it has heard of all of them or their lease is over.
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
  // For a job that no earlier chief has begun: there is nobody to wait for.
  Takeover() = default;
  // `view` is the last view of the predecessor, `patience` the workers' lease.
  Takeover(const v1::View& view, absl::Duration patience, absl::Time now);

  // ---- shards that own partitions ----

  enum class Shards {
    kAwaited,  // Some have not been heard of, and none has changed.
    kBack,     // All serve what the view says.
    kChanged,  // One is back without what the view says that it has.
  };
  Shards shards(const ShardTable& table) const;
  // Return the shards that are back without what they had, and those not heard of yet.
  std::set<uint32_t> Changed(const ShardTable& table) const;
  std::set<uint32_t> Awaited(const ShardTable& table) const;
  // Returns true if no shard that has been heard of still holds what it had.
  bool AllChanged(const ShardTable& table) const;
  // Waits no longer for `shard`: the processes `incarnations` (by shard), which have been heard of,
  // are to serve what it served.
  void Replace(uint32_t shard, const std::map<uint32_t, uint64_t>& incarnations);
  // Ends the wait for the shards, whatever came of it.
  void Settle() { shards_.clear(); }
  bool settled() const { return shards_.empty(); }

  // ---- workers ----

  // The worker has told of the leases that it holds.
  void OnReport(const std::string& worker) { workers_.erase(worker); }
  bool Awaits(const std::string& worker) const { return workers_.contains(worker); }
  // Returns true once workers that have not come have no lease any more, and may never come.
  bool patience_over(absl::Time now) const { return now >= until_; }
  // Returns true if no worker is awaited any more.
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
