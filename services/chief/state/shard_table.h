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
  absl::Time came;  // When this chief first heard of this process.
  absl::Time heard;
  bool present = true;  // Heard of by this chief.
  bool draining = false;
  // Its process has shown the secret of its incarnation, and is heard with that only.
  bool shows_secret = false;
  bool gone = false;             // Its process is known to have ended.
  absl::Time gone_at;            // When that was found out.
  uint64_t memory_bytes = 0;     // What the process may use; 0: not known.
  uint64_t open_files = 0;       // How many files and connections it may have open; 0: not known.
  std::string zone;              // Where its machine is; empty: not known.
  uint64_t loaded_timeline = 0;  // The timeline of the partitions that it has loaded.
  v1::ShardReport report;
  absl::Time report_at;
  double pushes_per_second = 0;
  double pulls_per_second = 0;
  // How much of the CPU time that the shard may use it does use, 0 to 1: a moving average over some
  // 10 s.
  double cpu_share = 0;
  FullMemory full;
};

// Thread-compatible.
class ShardTable {
 public:
  // The first map is made over the shards 0 to `quorum` - 1. Indexes of shards are lower than
  // `most`.
  ShardTable(uint32_t quorum, uint32_t most) : quorum_(quorum), most_(std::max(quorum, most)) {}

  // Takes over the shards of an earlier chief's view with their addresses and incarnations. They
  // are not `present` until this chief hears of them.
  void Inherit(const v1::View& view, absl::Time now);

  // kNew: nobody had the index. kSame: this process had registered already. kReplaced: another
  // process had the index, and what that one held is gone.
  enum class Arrival { kNew, kSame, kReplaced };
  // INVALID_ARGUMENT: no host:port, no incarnation, or a zone that is too long. RESOURCE_EXHAUSTED:
  // the index is too high. FAILED_PRECONDITION: the incarnation was replaced by another one, or
  // given up. PERMISSION_DENIED: see CheckSpeaker.
  absl::StatusOr<Arrival> Register(const v1::RegisterShardRequest& request, absl::Time now);

  // Returns true if Register would return kReplaced.
  bool Replaces(const v1::RegisterShardRequest& request) const;

  // PERMISSION_DENIED: who shows this secret (empty: none) is not the process of that shard and
  // incarnation: the incarnation is made of another secret, or of one that its process has shown
  // and this one does not; or it is that of another shard.
  absl::Status CheckSpeaker(uint32_t index, uint64_t incarnation, const std::string& secret) const;
  // Returns true if who shows this secret may speak as the shard's present process.
  static bool IsOwnSecret(const Shard& shard, const std::string& secret);

  // A certificate with the shard's number was shown for it: from now on the shard is one of
  // numbered(), also when it has left. Returns false if it was one.
  bool NoteNumbered(uint32_t index) { return numbered_.insert(index).second; }
  const std::set<uint32_t>& numbered() const { return numbered_; }

  // Null: the shard is unknown, or has another incarnation.
  Shard* Find(uint32_t index, Incarnation incarnation);
  // Forgets a shard that has left.
  void Forget(uint32_t index) { shards_.erase(index); }
  // The same, and never listens to its process again, as other shards have its partitions.
  void GiveUp(uint32_t index);
  // REQUIRES: the heartbeat is of the shard's process, and shows its secret (IsOwnSecret).
  static void Hear(Shard& shard, const v1::ShardHeartbeatRequest& request, absl::Time now);

  // Returns how many bytes the shard with the least memory may use; 0: that is known of no shard.
  uint64_t LeastMemory() const;

  // Returns true once this chief has heard of all shards of the quorum.
  bool complete() const;
  uint32_t quorum() const { return quorum_; }
  uint32_t most() const { return most_; }
  const std::map<uint32_t, Shard>& shards() const { return shards_; }
  // Null: there is none.
  const Shard* Find(uint32_t index) const;
  Shard* Find(uint32_t index);

  // Returns when the last of `shards` came. InfiniteFuture: one of them has not come, or has been
  // silent for longer than `patience`.
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
  std::deque<Incarnation> void_;  // Processes never heard again; the last ones.
  std::map<uint32_t, Shard> shards_;
  std::set<uint32_t> numbered_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_TABLE_H_
