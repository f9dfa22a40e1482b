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
  // Its process has shown the secret that belongs to its incarnation, and from then on is believed
  // only when it shows it.
  bool shows_secret = false;
  bool gone = false;             // Its process is known to have ended.
  absl::Time gone_at;            // When the chief found that out.
  uint64_t memory_bytes = 0;     // What the process may use; 0: not known.
  uint64_t open_files = 0;       // How many files and connections it may have open; 0: not known.
  std::string zone;              // The zone of its machine; empty: not known.
  uint64_t loaded_timeline = 0;  // The timeline of the partitions that it has loaded.
  v1::ShardReport report;
  absl::Time report_at;
  double pushes_per_second = 0;
  double pulls_per_second = 0;
  // The share, 0 to 1, of the CPU time available to the shard that it uses: a moving average over
  // some 10 s.
  double cpu_share = 0;
  FullMemory full;
};

// Thread-compatible.
class ShardTable {
 public:
  // The first partition map needs the shards 0 to `quorum` - 1. Every shard index is below
  // max(`quorum`, `most`).
  ShardTable(uint32_t quorum, uint32_t most) : quorum_(quorum), most_(std::max(quorum, most)) {}

  // Takes over the shards of an earlier chief's view with their addresses and incarnations. They
  // are not `present` until this chief hears of them.
  void Inherit(const v1::View& view, absl::Time now);

  // kNew: no process had the index. kSame: this process had registered before. kReplaced: another
  // process had the index, and the partitions in its memory are lost.
  enum class Arrival { kNew, kSame, kReplaced };
  // INVALID_ARGUMENT: no host:port, no incarnation, or a zone that is too long. RESOURCE_EXHAUSTED:
  // the index is too high. FAILED_PRECONDITION: the incarnation was replaced by another one, or
  // given up. PERMISSION_DENIED: see CheckSpeaker.
  absl::StatusOr<Arrival> Register(const v1::RegisterShardRequest& request, absl::Time now);

  // Returns true if Register would return kReplaced.
  bool Replaces(const v1::RegisterShardRequest& request) const;

  // Returns PERMISSION_DENIED if a peer that shows `secret` (empty: it shows none) cannot be the
  // process of that shard and incarnation: the secret does not belong to the incarnation; or the
  // process has shown a secret before and the peer shows none; or the incarnation is that of
  // another shard.
  absl::Status CheckSpeaker(uint32_t index, uint64_t incarnation, const std::string& secret) const;
  // Returns true if a peer that shows `secret` may speak for the shard's present process.
  static bool IsOwnSecret(const Shard& shard, const std::string& secret);

  // Records that a certificate with the shard's number was shown for it. The shard stays in
  // numbered() even after it has left. Returns true the first time.
  bool NoteNumbered(uint32_t index) { return numbered_.insert(index).second; }
  const std::set<uint32_t>& numbered() const { return numbered_; }

  // Returns null if the shard is unknown or has another incarnation.
  Shard* Find(uint32_t index, Incarnation incarnation);
  // Forgets a shard that has left.
  void Forget(uint32_t index) { shards_.erase(index); }
  // Forgets a shard whose partitions other shards have taken over, and refuses its process from now
  // on.
  void GiveUp(uint32_t index);
  // Takes in a heartbeat.
  // REQUIRES: the heartbeat is of the shard's process, and shows its secret (IsOwnSecret).
  static void Hear(Shard& shard, const v1::ShardHeartbeatRequest& request, absl::Time now);

  // Returns the least memory, in bytes, that any shard may use; 0 if it is known of no shard.
  uint64_t LeastMemory() const;

  // Returns true once this chief has heard of all shards of the quorum.
  bool complete() const;
  uint32_t quorum() const { return quorum_; }
  uint32_t most() const { return most_; }
  const std::map<uint32_t, Shard>& shards() const { return shards_; }
  // Return null if there is no such shard.
  const Shard* Find(uint32_t index) const;
  Shard* Find(uint32_t index);

  // Returns when the last of `shards` came. Returns InfiniteFuture if one of them has not come, or
  // has been silent for longer than `patience`.
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
  std::deque<Incarnation> void_;  // Processes that are refused for good; the latest ones.
  std::map<uint32_t, Shard> shards_;
  std::set<uint32_t> numbered_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_TABLE_H_
