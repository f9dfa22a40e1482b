// What a view means for one shard: which partitions it sends, receives and owns, which shards back
// those up, and what it backs up for others.
#ifndef CAPSTAN_PS_SHARD_OWN_VIEW_H_
#define CAPSTAN_PS_SHARD_OWN_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard_identity.h"

namespace capstan::ps {

// A move of a partition that this shard owns, to another shard.
struct OutgoingMove {
  ViewEpoch id;
  std::string address;  // The address and incarnation of the target's process.
  Incarnation incarnation{};
  bool replica = false;    // The target becomes the backup; this shard stays the owner.
  bool hand_over = false;  // The target is the backup, and becomes the owner with what it has.
};

// The backup of a partition that this shard owns.
struct ViewedPair {
  ViewEpoch id;
  // The address of the backup; empty: the view does not name the backup's process.
  std::string address;
  Incarnation incarnation{};
};

// A partition that this process backs up.
struct ViewedStandby {
  ViewEpoch id;         // The view that has made the pair.
  ViewEpoch move;       // The move by which the copy came.
  Incarnation owner{};  // 0: the owner is not in the view.
};

// *Immutable*.
class OwnView {
 public:
  // An empty view, as before the first one.
  OwnView() = default;
  OwnView(const v1::View& view, const ShardIdentity& self);

  ViewEpoch epoch() const { return epoch_; }
  uint64_t timeline() const { return timeline_; }

  // Returns true if this process is the owner.
  bool Owns(PartitionIndex partition) const;
  // Returns the move by which the partition leaves this shard; nullopt unless this process owns it
  // and the view names such a move.
  std::optional<OutgoingMove> Outgoing(PartitionIndex partition) const;
  // Returns the move by which a copy of the partition is on its way to this process.
  std::optional<ViewEpoch> Incoming(PartitionIndex partition) const;
  // Returns true if a later view may give this process a partition that it is sent or backs up now.
  bool AwaitsAny() const { return !incoming_.empty() || !standbys_.empty(); }
  // Returns the move by which this process has become the owner of the partition.
  std::optional<ViewEpoch> Received(PartitionIndex partition) const;
  // Returns the backup of the partition; nullopt unless this process owns it and it has a backup.
  std::optional<ViewedPair> Pair(PartitionIndex partition) const;
  // Returns the pair of the partition in which this process is the backup.
  std::optional<ViewedStandby> Standby(PartitionIndex partition) const;
  // Returns the shard that sends a copy of the partition here by this move: the owner. Returns
  // nullopt if the view names no such move.
  std::optional<uint32_t> Sender(PartitionIndex partition, ViewEpoch move) const;
  // Returns the shard whose process has this incarnation; nullopt if the view names no such
  // process.
  std::optional<uint32_t> ShardOf(Incarnation incarnation) const;
  // Returns true if this process backs up a partition that the process `owner` owns.
  bool BacksUpFor(Incarnation owner) const;
  // Returns true if a process of this incarnation is in the view.
  bool Names(Incarnation incarnation) const { return shards_.contains(incarnation); }
  // Returns true if the copy of the partition that came here by the move `origin` (0.0: it was
  // loaded) must not be served (docs/spec, rule 16), because the view names another shard's copy,
  // or a later one of this shard.
  bool Disowns(PartitionIndex partition, ViewEpoch origin) const;

 private:
  ViewEpoch epoch_;
  uint64_t timeline_ = 0;
  std::vector<bool> owned_;       // By partition: this process owns it.
  std::vector<uint32_t> owners_;  // By partition: the shard that owns it.
  std::map<PartitionIndex, OutgoingMove> outgoing_;
  std::map<PartitionIndex, ViewEpoch> incoming_;
  // By partition: the move by which its copy came to its owner.
  std::map<PartitionIndex, ViewEpoch> copies_;
  std::map<PartitionIndex, ViewedPair> pairs_;
  // A hash map, because it is looked up for each operation of an owner.
  absl::flat_hash_map<PartitionIndex, ViewedStandby> standbys_;
  std::map<Incarnation, uint32_t> shards_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_OWN_VIEW_H_
