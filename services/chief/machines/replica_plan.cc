#include "chief/machines/replica_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace capstan::chief {
namespace {

class ReplicaPlanner {
 public:
  explicit ReplicaPlanner(const ReplicaQuestion& question);

  std::vector<PlannedMove> Plan();

 private:
  void PairTheUnpaired();
  void LeaveZonesOfOwners();
  // Moves one backup from a shard that holds much to one that holds little. Returns false if the
  // shards are balanced as well as possible.
  bool GiveOne();
  // Returns the partition whose backup should move from `from` to `to`; nullopt if none improves
  // the balance.
  std::optional<uint32_t> BestBetween(uint32_t from, uint32_t to) const;
  void Order(uint32_t partition, uint32_t backup);
  uint64_t HeldBy(uint32_t shard) const;
  bool MayFailTogether(uint32_t shard, uint32_t other) const;
  std::vector<uint32_t> TakersHeaviestFirst() const;
  void Hold(uint32_t shard, uint32_t partition) { held_[shard] += bytes_[partition]; }
  void BackUp(uint32_t shard, uint32_t partition);
  void TakeFrom(uint32_t backup, uint32_t partition);
  std::optional<uint32_t> BackupFor(uint32_t partition) const;
  std::vector<uint32_t> UnpairedHeaviestFirst() const;

  const ReplicaQuestion& question_;
  std::vector<uint64_t> bytes_;        // By partition.
  std::map<uint32_t, uint64_t> held_;  // By shard: owned and backed up.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t>
      backed_up_;              // Bytes that a backup holds of an owner.
  std::vector<bool> ordered_;  // By partition.
  std::vector<PlannedMove> moves_;
};

ReplicaPlanner::ReplicaPlanner(const ReplicaQuestion& question)
    : question_(question), ordered_(question.owners.size()) {
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

void ReplicaPlanner::TakeFrom(uint32_t backup, uint32_t partition) {
  held_[backup] -= bytes_[partition];
  backed_up_[{question_.owners[partition], backup}] -= bytes_[partition];
}

uint64_t ReplicaPlanner::HeldBy(uint32_t shard) const {
  const auto found = held_.find(shard);
  return found == held_.end() ? 0 : found->second;
}

bool ReplicaPlanner::MayFailTogether(uint32_t shard, uint32_t other) const {
  const auto zone = question_.zones.find(shard);
  const auto others = question_.zones.find(other);
  return zone != question_.zones.end() && others != question_.zones.end() &&
         zone->second == others->second;
}

std::optional<uint32_t> ReplicaPlanner::BackupFor(uint32_t partition) const {
  const uint32_t owner = question_.owners[partition];
  std::optional<std::tuple<bool, uint64_t, uint64_t, uint32_t>> best;
  for (uint32_t taker : question_.takers) {
    if (taker == owner) continue;
    const auto of_owner = backed_up_.find({owner, taker});
    const std::tuple offer{MayFailTogether(owner, taker), HeldBy(taker),
                           of_owner == backed_up_.end() ? 0 : of_owner->second, taker};
    if (!best || offer < *best) best = offer;
  }
  if (!best) return std::nullopt;
  return std::get<3>(*best);
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

void ReplicaPlanner::Order(uint32_t partition, uint32_t backup) {
  BackUp(backup, partition);
  ordered_[partition] = true;
  moves_.push_back({partition, question_.owners[partition], backup, /*replica=*/true});
}

void ReplicaPlanner::PairTheUnpaired() {
  for (uint32_t partition : UnpairedHeaviestFirst()) {
    if (const std::optional<uint32_t> backup = BackupFor(partition)) Order(partition, *backup);
  }
}

// Moves backups out of the zones of their owners: they were made when there was no shard in another
// zone.
void ReplicaPlanner::LeaveZonesOfOwners() {
  for (uint32_t partition = 0; partition < question_.owners.size(); ++partition) {
    const uint32_t owner = question_.owners[partition];
    const std::optional<uint32_t> backup = question_.backups[partition];
    const bool stays = question_.takers.contains(owner);
    if (!stays || !backup || !MayFailTogether(owner, *backup)) continue;
    const std::optional<uint32_t> better = BackupFor(partition);
    if (!better || MayFailTogether(owner, *better)) continue;
    TakeFrom(*backup, partition);
    Order(partition, *better);
  }
}

// Chooses the partition that brings what the two shards hold closest together.
std::optional<uint32_t> ReplicaPlanner::BestBetween(uint32_t from, uint32_t to) const {
  if (HeldBy(from) <= HeldBy(to)) return std::nullopt;
  const uint64_t apart = HeldBy(from) - HeldBy(to);
  std::optional<uint32_t> best;
  uint64_t least = apart;
  for (uint32_t partition = 0; partition < question_.owners.size(); ++partition) {
    const uint32_t owner = question_.owners[partition];
    const bool gives = question_.backups[partition] == from && !ordered_[partition];
    if (!gives || owner == to || !question_.takers.contains(owner)) continue;
    if (MayFailTogether(owner, to) && !MayFailTogether(owner, from)) continue;
    const uint64_t twice = 2 * bytes_[partition];
    const uint64_t left = twice > apart ? twice - apart : apart - twice;
    if (left >= least) continue;
    least = left;
    best = partition;
  }
  return best;
}

std::vector<uint32_t> ReplicaPlanner::TakersHeaviestFirst() const {
  std::vector<uint32_t> order(question_.takers.begin(), question_.takers.end());
  std::stable_sort(order.begin(), order.end(),
                   [this](uint32_t a, uint32_t b) { return HeldBy(a) > HeldBy(b); });
  return order;
}

bool ReplicaPlanner::GiveOne() {
  const std::vector<uint32_t> order = TakersHeaviestFirst();
  double mean = 0;
  for (uint32_t taker : order) {
    mean += static_cast<double>(HeldBy(taker)) / static_cast<double>(order.size());
  }
  for (auto to = order.rbegin(); to != order.rend(); ++to) {
    for (uint32_t from : order) {
      const bool uneven = static_cast<double>(HeldBy(from)) > (1 + kEven) * mean ||
                          static_cast<double>(HeldBy(*to)) < (1 - kEven) * mean;
      const std::optional<uint32_t> partition =
          uneven ? BestBetween(from, *to) : std::optional<uint32_t>();
      if (!partition) continue;
      TakeFrom(from, *partition);
      Order(*partition, *to);
      return true;
    }
  }
  return false;
}

std::vector<PlannedMove> ReplicaPlanner::Plan() {
  PairTheUnpaired();
  if (question_.even) LeaveZonesOfOwners();
  while (question_.even && GiveOne()) {
  }
  return std::move(moves_);
}

}  // namespace

std::vector<PlannedMove> PlanReplicas(const ReplicaQuestion& question) {
  return ReplicaPlanner(question).Plan();
}

}  // namespace capstan::chief
