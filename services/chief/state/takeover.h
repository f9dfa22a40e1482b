// A chief that goes on with a running job: whom its predecessor left at work, and who of them has
// been heard of. Until the shards are back nothing is granted; until the workers are, or their
// lease is over, nothing that one of them may hold.
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
  // The takeover of a job that nobody has begun: there is nobody to wait for.
  Takeover() = default;
  // `view` is the predecessor's last. `patience`: the workers' lease.
  Takeover(const v1::View& view, absl::Duration patience, absl::Time now);

  // ---- shards that own partitions ----

  enum class Shards {
    kAwaited,  // Some have not been heard of.
    kBack,     // All serve what the view says.
    kChanged,  // One has come back without it.
  };
  Shards shards(const ShardTable& table) const;
  // Those that have, and those that have not been heard of.
  std::set<uint32_t> Changed(const ShardTable& table) const;
  std::set<uint32_t> Awaited(const ShardTable& table) const;
  // Nobody who has been heard of holds anything any more.
  bool AllChanged(const ShardTable& table) const;
  // These processes, which have been heard of, are to serve what the shard has served; it is not
  // waited for.
  void Replace(uint32_t shard, const std::map<uint32_t, uint64_t>& incarnations);
  // The question of the shards is settled, one way or the other.
  void Settle() { shards_.clear(); }
  bool settled() const { return shards_.empty(); }

  // ---- workers ----

  // The worker has told of the leases that it holds.
  void OnReport(const std::string& worker) { workers_.erase(worker); }
  bool Awaits(const std::string& worker) const { return workers_.contains(worker); }
  // Whoever has not come by now may never come.
  bool patience_over(absl::Time now) const { return now >= until_; }
  // Nobody is awaited any more.
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
