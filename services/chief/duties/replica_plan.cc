#include "chief/duties/replica_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace capstan::chief {
namespace {

class ReplicaPlanner {
 public:
  explicit ReplicaPlanner(const ReplicaQuestion& question);

  std::vector<PlannedMove> Plan();

 private:
  void Hold(uint32_t shard, uint32_t partition) { held_[shard] += bytes_[partition]; }
  void BackUp(uint32_t shard, uint32_t partition);
  std::optional<uint32_t> BackupFor(uint32_t partition) const;
  std::vector<uint32_t> UnpairedHeaviestFirst() const;

  const ReplicaQuestion& question_;
  std::vector<uint64_t> bytes_;                                  // By partition.
  std::map<uint32_t, uint64_t> held_;                            // By shard: owned and backed up.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> backed_up_;  // Of an owner, by a backup.
};

ReplicaPlanner::ReplicaPlanner(const ReplicaQuestion& question) : question_(question) {
  const auto known = [](const PartitionWeight& weight) { return weight.bytes > 0; };
  const bool any = std::any_of(question.weights.begin(), question.weights.end(), known);
  for (uint32_t partition = 0; partition < question.owners.size(); ++partition) {
    const bool weighed = any && partition < question.weights.size();
    bytes_.push_back(weighed ? std::max<uint64_t>(question.weights[partition].bytes, 1) : 1);
    Hold(question.owners[partition], partition);
    if (question.backups[partition]) BackUp(*question.backups[partition], partition);
  }
}

void ReplicaPlanner::BackUp(uint32_t shard, uint32_t partition) {
  Hold(shard, partition);
  backed_up_[{question_.owners[partition], shard}] += bytes_[partition];
}

std::optional<uint32_t> ReplicaPlanner::BackupFor(uint32_t partition) const {
  const uint32_t owner = question_.owners[partition];
  const auto value_of = [](const auto& map, const auto& key) {
    const auto found = map.find(key);
    return found == map.end() ? uint64_t{0} : found->second;
  };
  std::optional<std::tuple<uint64_t, uint64_t, uint32_t>> best;
  for (uint32_t taker : question_.takers) {
    if (taker == owner) continue;
    const std::tuple offer{value_of(held_, taker), value_of(backed_up_, std::pair{owner, taker}),
                           taker};
    if (!best || offer < *best) best = offer;
  }
  if (!best) return std::nullopt;
  return std::get<2>(*best);
}

std::vector<uint32_t> ReplicaPlanner::UnpairedHeaviestFirst() const {
  std::vector<uint32_t> unpaired;
  for (uint32_t partition = 0; partition < question_.owners.size(); ++partition) {
    const bool stays = question_.takers.contains(question_.owners[partition]);
    if (stays && !question_.backups[partition]) unpaired.push_back(partition);
  }
  std::stable_sort(unpaired.begin(), unpaired.end(),
                   [this](uint32_t a, uint32_t b) { return bytes_[a] > bytes_[b]; });
  return unpaired;
}

std::vector<PlannedMove> ReplicaPlanner::Plan() {
  std::vector<PlannedMove> moves;
  for (uint32_t partition : UnpairedHeaviestFirst()) {
    const std::optional<uint32_t> backup = BackupFor(partition);
    if (!backup) continue;
    BackUp(*backup, partition);
    moves.push_back({partition, question_.owners[partition], *backup, /*replica=*/true});
  }
  return moves;
}

}  // namespace

std::vector<PlannedMove> PlanReplicas(const ReplicaQuestion& question) {
  return ReplicaPlanner(question).Plan();
}

}  // namespace capstan::chief
