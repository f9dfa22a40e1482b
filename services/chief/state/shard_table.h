// The shards: who serves which partitions, and who has fallen silent.
#ifndef CAPSTAN_CHIEF_STATE_SHARD_TABLE_H_
#define CAPSTAN_CHIEF_STATE_SHARD_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/full_memory.h"

namespace capstan::chief {

struct Shard {
  uint32_t index = 0;
  std::string address;
  Incarnation incarnation;
  absl::Time came;  // Heard of by this chief since then, as this process.
  absl::Time heard;
  bool present = true;  // Heard of by this chief.
  bool draining = false;
  bool gone = false;             // Its process is known to have ended,
  absl::Time gone_at;            // as was found at this time.
  uint64_t memory_bytes = 0;     // That it may use; 0: not known.
  std::string zone;              // Where its machine is; empty: not known.
  uint64_t loaded_timeline = 0;  // Its partitions are loaded, and of this timeline.
  v1::ShardReport report;
  absl::Time report_at;
  double pushes_per_second = 0;
  double pulls_per_second = 0;
  // The share of the CPU time it may have that it uses: a moving average over some 10 s, 0 to 1.
  double cpu_share = 0;
  FullMemory full;
};

// Thread-compatible.
class ShardTable {
 public:
  // `quorum`: shards, from index 0, over which the first map is made. `most`: no index is as high.
  ShardTable(uint32_t quorum, uint32_t most) : quorum_(quorum), most_(std::max(quorum, most)) {}

  // The shards of an earlier chief's view: theirs is the address and incarnation, until others
  // come.
  void Inherit(const v1::View& view, absl::Time now);

  // kSame: that process had registered already. kReplaced: another process had that index; whatever
  // it held is gone.
  enum class Arrival { kNew, kSame, kReplaced };
  // INVALID_ARGUMENT: no address, no incarnation. RESOURCE_EXHAUSTED: the index is too high.
  // FAILED_PRECONDITION: an incarnation in whose place another has come, or that was given up.
  absl::StatusOr<Arrival> Register(const v1::RegisterShardRequest& request, absl::Time now);

  // Register would say kReplaced.
  bool Replaces(const v1::RegisterShardRequest& request) const;

  // Null: unknown, or of another incarnation.
  Shard* Find(uint32_t index, Incarnation incarnation);
  // The shard is gone, and is not missed.
  void Forget(uint32_t index) { shards_.erase(index); }
  // The same, and its process is never listened to again: others have its partitions.
  void GiveUp(uint32_t index);
  static void Hear(Shard& shard, const v1::ShardHeartbeatRequest& request, absl::Time now);

  // That the shard with the least memory may use; 0: of none it is known.
  uint64_t LeastMemory() const;

  // All of the quorum have been heard of.
  bool complete() const;
  uint32_t quorum() const { return quorum_; }
  uint32_t most() const { return most_; }
  const std::map<uint32_t, Shard>& shards() const { return shards_; }
  // Null: there is none.
  const Shard* Find(uint32_t index) const;
  Shard* Find(uint32_t index);

  // When the last of these came. InfiniteFuture: one has not come, or nothing was heard from it for
  // longer than `patience`.
  absl::Time ThereSince(const std::set<uint32_t>& shards, absl::Duration patience,
                        absl::Time now) const;

  // Median and maximum of the staleness of all gradients so far, in versions.
  uint64_t StalenessMedian() const;
  uint64_t StalenessMax() const;

 private:
  absl::Status Check(const v1::RegisterShardRequest& request) const;
  void Void(Incarnation incarnation);

  uint32_t quorum_;
  uint32_t most_;
  std::deque<Incarnation> void_;  // Never listened to again; the last ones.
  std::map<uint32_t, Shard> shards_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_TABLE_H_
