#include "ps/shard/own_view.h"

#include <algorithm>

#include "capstan/placement/view_epoch.h"

namespace capstan::ps {
namespace {

template <typename Map>
std::optional<typename Map::mapped_type> Find(const Map& map, PartitionIndex partition) {
  const auto found = map.find(partition);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

const v1::ShardInfo* FindShard(const v1::View& view, uint32_t index) {
  const auto found = std::find_if(view.shards().begin(), view.shards().end(),
                                  [index](const auto& shard) { return shard.index() == index; });
  return found == view.shards().end() ? nullptr : &*found;
}

Incarnation OwnerOf(const v1::View& view, uint32_t partition) {
  if (partition >= static_cast<uint32_t>(view.owners_size())) return {};
  const v1::ShardInfo* const owner = FindShard(view, view.owners(static_cast<int>(partition)));
  return owner == nullptr ? Incarnation{} : Incarnation{owner->incarnation()};
}

}  // namespace

OwnView::OwnView(const v1::View& view, const ShardIdentity& self)
    : epoch_(EpochOf(view)),
      timeline_(view.timeline()),
      owners_(view.owners().begin(), view.owners().end()) {
  const auto index = static_cast<uint32_t>(Raw(self.index));
  const v1::ShardInfo* const here = FindShard(view, index);
  const bool present = here != nullptr && here->incarnation() == Raw(self.incarnation);
  for (const uint32_t owner : view.owners()) owned_.push_back(present && owner == index);
  for (const v1::PartitionMove& move : view.moves()) {
    const auto partition = static_cast<PartitionIndex>(move.partition());
    const v1::ShardInfo* const target = FindShard(view, move.to());
    if (move.to() == index && move.to_incarnation() == Raw(self.incarnation)) {
      if (!move.hand_over()) incoming_[partition] = ViewEpochFromProto(move.id());
    } else if (Owns(partition) && target != nullptr &&
               target->incarnation() == move.to_incarnation()) {
      outgoing_[partition] = {ViewEpochFromProto(move.id()), target->address(),
                              Incarnation{move.to_incarnation()}, move.replica(), move.hand_over()};
    }
  }
  for (const v1::PartitionPair& pair : view.pairs()) {
    const auto partition = static_cast<PartitionIndex>(pair.partition());
    const v1::ShardInfo* const backup = FindShard(view, pair.backup());
    const bool there = backup != nullptr && backup->incarnation() == pair.backup_incarnation();
    if (pair.backup() == index && pair.backup_incarnation() == Raw(self.incarnation)) {
      standbys_[partition] = {ViewEpochFromProto(pair.id()), ViewEpochFromProto(pair.move()),
                              OwnerOf(view, pair.partition())};
      // The pair exists until a view drops it, even if the backup's process is gone.
    } else if (Owns(partition)) {
      pairs_[partition] = {ViewEpochFromProto(pair.id()), there ? backup->address() : "",
                           Incarnation{pair.backup_incarnation()}};
    }
  }
  for (const v1::ShardInfo& shard : view.shards()) {
    shards_[Incarnation{shard.incarnation()}] = shard.index();
  }
  for (const v1::PartitionCopy& copy : view.copies()) {
    copies_[static_cast<PartitionIndex>(copy.partition())] = ViewEpochFromProto(copy.move());
  }
}

bool OwnView::Owns(PartitionIndex partition) const {
  const auto place = static_cast<size_t>(Raw(partition));
  return place < owned_.size() && owned_[place];
}

std::optional<OutgoingMove> OwnView::Outgoing(PartitionIndex partition) const {
  return Find(outgoing_, partition);
}

std::optional<ViewEpoch> OwnView::Incoming(PartitionIndex partition) const {
  return Find(incoming_, partition);
}

std::optional<uint32_t> OwnView::Sender(PartitionIndex partition, ViewEpoch move) const {
  const auto place = static_cast<size_t>(Raw(partition));
  if (Incoming(partition) != move || place >= owners_.size()) return std::nullopt;
  return owners_[place];
}

std::optional<uint32_t> OwnView::ShardOf(Incarnation incarnation) const {
  const auto found = shards_.find(incarnation);
  if (found == shards_.end()) return std::nullopt;
  return found->second;
}

std::optional<ViewEpoch> OwnView::Received(PartitionIndex partition) const {
  return Owns(partition) ? Find(copies_, partition) : std::nullopt;
}

std::optional<ViewedPair> OwnView::Pair(PartitionIndex partition) const {
  return Find(pairs_, partition);
}

std::optional<ViewedStandby> OwnView::Standby(PartitionIndex partition) const {
  return Find(standbys_, partition);
}

bool OwnView::BacksUpFor(Incarnation owner) const {
  return std::any_of(standbys_.begin(), standbys_.end(),
                     [owner](const auto& standby) { return standby.second.owner == owner; });
}

bool OwnView::Disowns(PartitionIndex partition, ViewEpoch origin) const {
  const std::optional<ViewEpoch> copy = Find(copies_, partition);
  return copy && (!Owns(partition) || *copy != origin);
}

}  // namespace capstan::ps
