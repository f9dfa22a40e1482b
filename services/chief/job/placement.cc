#include "chief/job/placement.h"

#include <algorithm>

namespace capstan::chief {
namespace {

// A leaving shard is saved instead when this many batches of its moves have failed.
constexpr int kMovesMayFail = 2;

MoveOptions MovesOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.batch_partitions = options.move_batch,
          .bytes_per_second = spec.rebalance().bytes_per_second(),
          .call_deadline = options.call_deadline};
}

}  // namespace

Placement::Placement(const ChiefOptions& options, const v1::JobSpec& spec, const v1::View& stored)
    : shards(options.shards, spec.partition_count()),
      hearing(spec),
      loads(spec.partition_count()),
      moves(MovesOf(options, spec)),
      views(options.term, spec),
      gate(stored) {}

bool Placement::MayTake(uint32_t index, absl::Time now) const {
  const Shard* shard = shards.Find(index);
  return shard != nullptr && shard->present && !shard->draining && !hearing.IsSilent(*shard, now);
}

std::set<uint32_t> Placement::LeavingShards() const {
  std::set<uint32_t> leaving;
  for (const auto& [index, shard] : shards.shards()) {
    if (shard.draining && views.Owns(index)) leaving.insert(index);
  }
  return leaving;
}

std::set<uint32_t> Placement::ShardsToSave(absl::Time now) const {
  std::set<uint32_t> leaving = LeavingShards();
  if (leaving.empty()) return leaving;
  const std::set<uint32_t>& members = views.members();
  const bool takers = std::any_of(members.begin(), members.end(),
                                  [&](uint32_t index) { return MayTake(index, now); });
  if (!takers) return leaving;
  std::erase_if(leaving,
                [this](uint32_t index) { return moves.FailuresOf(index) < kMovesMayFail; });
  return leaving;
}

std::vector<uint32_t> Placement::PartitionsOf(uint32_t shard) const {
  std::vector<uint32_t> partitions;
  const auto& owners = views.current().owners();
  for (int i = 0; i < owners.size(); ++i) {
    if (owners[i] == shard) partitions.push_back(static_cast<uint32_t>(i));
  }
  return partitions;
}

bool Placement::Lacks(const Shard& shard) const {
  return views.Owns(shard.index) && shard.present && shard.loaded_timeline != timeline();
}

void Placement::OnLoaded(Shard& shard, absl::Time now) {
  shard.loaded_timeline = timeline();
  hearing.lease().Await(Raw(shard.incarnation), now);
}

bool Placement::IsPublished(const Shard& shard) const {
  const auto& published = gate.published().shards();
  return std::any_of(published.begin(), published.end(), [&shard](const v1::ShardInfo& info) {
    return info.index() == shard.index && info.incarnation() == Raw(shard.incarnation);
  });
}

std::vector<std::optional<uint32_t>> Placement::Backups() const {
  const v1::View& view = views.current();
  std::vector<std::optional<uint32_t>> backups(static_cast<size_t>(view.owners_size()));
  for (const v1::PartitionPair& pair : view.pairs()) backups[pair.partition()] = pair.backup();
  return backups;
}

size_t Placement::Unpaired() const {
  const v1::View& view = views.current();
  return static_cast<size_t>(view.owners_size() - view.pairs_size());
}

}  // namespace capstan::chief
