// What the newest view says of moves and backups, as one shard has to know it: what it sends, what
// it is sent, what is its own, who backs that up, and what it backs up for others.
#ifndef CAPSTAN_PS_SHARD_VIEWED_MOVES_H_
#define CAPSTAN_PS_SHARD_VIEWED_MOVES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard_identity.h"

namespace capstan::ps {

// A partition that this shard owns is on its way to another one.
struct OutgoingMove {
  ViewEpoch id;
  std::string address;  // The address of the target, whose incarnation this is.
  Incarnation incarnation{};
  bool replica = false;    // It is to become the backup, and this shard stays the owner.
  bool hand_over = false;  // It is the backup, and is to become the owner by what it has.
};

// A partition that this shard owns has a backup.
struct ViewedPair {
  ViewEpoch id;
  // The address of the backup, whose incarnation this is; empty: it is not there.
  std::string address;
  Incarnation incarnation{};
};

// This process backs a partition up.
struct ViewedStandby {
  ViewEpoch id;         // The view that has made the pair.
  ViewEpoch move;       // By which the copy came.
  Incarnation owner{};  // 0: it is not in the view.
};

// *Immutable*.
class ViewedMoves {
 public:
  // Before any view: nothing is known.
  ViewedMoves() = default;
  ViewedMoves(const v1::View& view, const ShardIdentity& self);

  ViewEpoch epoch() const { return epoch_; }
  uint64_t timeline() const { return timeline_; }

  // Whether this process is the owner.
  bool Owns(PartitionIndex partition) const;
  // Returns how the partition leaves this shard; nothing unless this process owns it.
  std::optional<OutgoingMove> Outgoing(PartitionIndex partition) const;
  // Returns the move by which a copy of the partition is on its way to this process.
  std::optional<ViewEpoch> Incoming(PartitionIndex partition) const;
  // Whether a later view may give a partition to this process.
  bool AwaitsAny() const { return !incoming_.empty() || !standbys_.empty(); }
  // Returns the move by which this process has become the owner of the partition.
  std::optional<ViewEpoch> Received(PartitionIndex partition) const;
  // Returns who backs up the partition, of which this process is the owner; nothing: nobody.
  std::optional<ViewedPair> Pair(PartitionIndex partition) const;
  // Returns of which pair this process is the backup.
  std::optional<ViewedStandby> Standby(PartitionIndex partition) const;
  // Whether any process of this incarnation is in the view.
  bool Names(Incarnation incarnation) const { return incarnations_.contains(incarnation); }
  // Whether a copy of the partition that came here by the move `origin` (0.0: that was loaded) is
  // not the one that is served (docs/spec, rule 16): another shard's is, or a later one here.
  bool Disowns(PartitionIndex partition, ViewEpoch origin) const;

 private:
  ViewEpoch epoch_;
  uint64_t timeline_ = 0;
  std::vector<bool> owned_;  // By partition: this process owns it.
  std::map<PartitionIndex, OutgoingMove> outgoing_;
  std::map<PartitionIndex, ViewEpoch> incoming_;
  // The move that brought its copy to each partition's owner.
  std::map<PartitionIndex, ViewEpoch> copies_;
  std::map<PartitionIndex, ViewedPair> pairs_;
  std::map<PartitionIndex, ViewedStandby> standbys_;
  std::set<Incarnation> incarnations_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_VIEWED_MOVES_H_
