#include "chief/machines/move_plan.h"

#include <algorithm>
#include <map>
#include <optional>

namespace capstan::chief {
namespace {

// The size of a shard or a partition, in multiples of the mean of the shards that stay: a shard has
// 1 of each if all are equal.
struct Share {
  double bytes = 0;
  double load = 0;
  double count = 0;  // Breaks ties of bytes and load.
};

constexpr double kCountMatters = 1e-3;
constexpr double kNoGain = 1e-9;
// A move has to lower the cost of the two shards by at least this fraction of the square of the
// partition's share: with less, the shards would only swap their roles.
constexpr double kWorthwhile = 0.25;

Share operator+(const Share& a, const Share& b) {
  return {a.bytes + b.bytes, a.load + b.load, a.count + b.count};
}
Share operator-(const Share& a, const Share& b) {
  return {a.bytes - b.bytes, a.load - b.load, a.count - b.count};
}
double Weight(const Share& share) { return share.bytes + share.load + kCountMatters * share.count; }
double Square(double x) { return x * x; }
// Returns how far a shard is from the mean.
double Cost(const Share& share) {
  return Square(share.bytes - 1) + Square(share.load - 1) + kCountMatters * Square(share.count - 1);
}
bool IsEven(double of_mean) { return of_mean <= 1 + kEven && of_mean >= 1 - kEven; }

std::optional<uint32_t> BackupOf(const MoveQuestion& question, uint32_t partition) {
  if (partition >= question.backups.size()) return std::nullopt;
  const std::optional<uint32_t> backup = question.backups[partition];
  return backup && question.takers.contains(*backup) ? backup : std::nullopt;
}

class Planner {
 public:
  explicit Planner(const MoveQuestion& question);

  std::vector<PlannedMove> Plan(bool even);

 private:
  struct Shard {
    Share share;
    std::vector<uint32_t> partitions;  // Ascending.
  };
  struct Leaving {
    uint32_t partition = 0;
    uint32_t owner = 0;
    std::optional<uint32_t> backup;  // If that stays.
  };

  uint32_t Lightest() const;
  bool AllEven() const;
  std::vector<uint32_t> HeaviestFirst() const;
  std::optional<PlannedMove> BestMove() const;
  // Returns the move that balances the two shards best; nullopt if none improves the balance.
  std::optional<PlannedMove> BestBetween(uint32_t from, uint32_t to) const;
  void Give(uint32_t partition, uint32_t from, uint32_t to);

  std::vector<Share> shares_;  // By partition.
  std::map<uint32_t, Shard> shards_;
  std::vector<Leaving> leaving_;  // The heaviest first.
  std::vector<bool> moved_;
  std::vector<PlannedMove> moves_;
};

Planner::Planner(const MoveQuestion& question) : moved_(question.owners.size()) {
  double bytes = 0;
  double load = 0;
  for (const PartitionWeight& weight : question.weights) {
    bytes += static_cast<double>(weight.bytes);
    load += weight.load;
  }
  const double shards = static_cast<double>(question.takers.size());
  const double each = shards / static_cast<double>(std::max<size_t>(question.owners.size(), 1));
  for (size_t i = 0; i < question.owners.size(); ++i) {
    const PartitionWeight weight =
        i < question.weights.size() ? question.weights[i] : PartitionWeight();
    const double of_bytes = static_cast<double>(weight.bytes) * shards / bytes;
    const double of_load = weight.load * shards / load;
    // If all bytes or all loads are unknown (zero), the other one, or else the count, is used
    // instead.
    shares_.push_back({bytes > 0  ? of_bytes
                       : load > 0 ? of_load
                                  : each,
                       load > 0    ? of_load
                       : bytes > 0 ? of_bytes
                                   : each,
                       each});
  }
  for (uint32_t taker : question.takers) shards_[taker];
  for (uint32_t partition = 0; partition < question.owners.size(); ++partition) {
    const auto owner = shards_.find(question.owners[partition]);
    if (owner == shards_.end()) {
      leaving_.push_back({partition, question.owners[partition], BackupOf(question, partition)});
      continue;
    }
    owner->second.share = owner->second.share + shares_[partition];
    owner->second.partitions.push_back(partition);
  }
  std::stable_sort(leaving_.begin(), leaving_.end(), [this](const auto& a, const auto& b) {
    return Weight(shares_[a.partition]) > Weight(shares_[b.partition]);
  });
}

uint32_t Planner::Lightest() const {
  return std::min_element(shards_.begin(), shards_.end(),
                          [](const auto& a, const auto& b) {
                            return Weight(a.second.share) < Weight(b.second.share);
                          })
      ->first;
}

std::vector<uint32_t> Planner::HeaviestFirst() const {
  std::vector<uint32_t> order;
  for (const auto& [index, shard] : shards_) order.push_back(index);
  std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return Weight(shards_.at(a).share) > Weight(shards_.at(b).share);
  });
  return order;
}

bool Planner::AllEven() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const auto& shard) {
    return IsEven(shard.second.share.bytes) && IsEven(shard.second.share.load);
  });
}

std::optional<PlannedMove> Planner::BestBetween(uint32_t from, uint32_t to) const {
  const Share& giver = shards_.at(from).share;
  const Share& taker = shards_.at(to).share;
  double most = kNoGain;
  std::optional<PlannedMove> best;
  for (uint32_t partition : shards_.at(from).partitions) {
    if (moved_[partition]) continue;
    const Share& share = shares_[partition];
    const double gain = Cost(giver) + Cost(taker) - Cost(giver - share) - Cost(taker + share);
    if (gain <= most || gain < kWorthwhile * (Square(share.bytes) + Square(share.load))) continue;
    most = gain;
    best = PlannedMove{.partition = partition, .from = from, .to = to};
  }
  return best;
}

std::optional<PlannedMove> Planner::BestMove() const {
  const std::vector<uint32_t> order = HeaviestFirst();
  for (auto to = order.rbegin(); to != order.rend(); ++to) {
    for (uint32_t from : order) {
      if (from == *to) continue;
      if (std::optional<PlannedMove> best = BestBetween(from, *to)) return best;
    }
  }
  return std::nullopt;
}

void Planner::Give(uint32_t partition, uint32_t from, uint32_t to) {
  if (const auto giver = shards_.find(from); giver != shards_.end()) {
    giver->second.share = giver->second.share - shares_[partition];
    std::erase(giver->second.partitions, partition);
  }
  shards_[to].share = shards_[to].share + shares_[partition];
  shards_[to].partitions.push_back(partition);
  moved_[partition] = true;
  moves_.push_back({.partition = partition, .from = from, .to = to});
}

std::vector<PlannedMove> Planner::Plan(bool even) {
  if (shards_.empty()) return {};
  for (const Leaving& leaving : leaving_) {
    Give(leaving.partition, leaving.owner, leaving.backup.value_or(Lightest()));
  }
  while (even && !AllEven()) {
    const std::optional<PlannedMove> next = BestMove();
    if (!next) break;
    Give(next->partition, next->from, next->to);
  }
  return std::move(moves_);
}

}  // namespace

std::vector<PlannedMove> PlanMoves(const MoveQuestion& question) {
  return Planner(question).Plan(question.even);
}

std::vector<PlannedMove> BackedUpFirst(const std::vector<PlannedMove>& moves,
                                       const MoveQuestion& question, size_t at_a_time) {
  std::vector<PlannedMove> result;
  std::vector<PlannedMove> handed_over;
  for (const PlannedMove& move : moves) {
    const bool backed_up =
        move.partition < question.backups.size() && question.backups[move.partition] == move.to;
    if (backed_up || !question.takers.contains(move.from)) {
      result.push_back(move);
      continue;
    }
    result.push_back({move.partition, move.from, move.to, /*replica=*/true});
    handed_over.push_back(move);
    if (handed_over.size() < at_a_time) continue;
    result.insert(result.end(), handed_over.begin(), handed_over.end());
    handed_over.clear();
  }
  result.insert(result.end(), handed_over.begin(), handed_over.end());
  return result;
}

Skew SkewOf(const MoveQuestion& question) {
  std::map<uint32_t, PartitionWeight> shards;
  for (uint32_t taker : question.takers) shards[taker];
  PartitionWeight all;
  for (size_t i = 0; i < question.owners.size() && i < question.weights.size(); ++i) {
    PartitionWeight& shard = shards[question.owners[i]];
    shard.bytes += question.weights[i].bytes;
    shard.load += question.weights[i].load;
    all.bytes += question.weights[i].bytes;
    all.load += question.weights[i].load;
  }
  PartitionWeight most;
  for (const auto& [index, shard] : shards) {
    most.bytes = std::max(most.bytes, shard.bytes);
    most.load = std::max(most.load, shard.load);
  }
  Skew skew;
  const auto count = static_cast<double>(shards.size());
  if (all.bytes > 0) {
    skew.bytes = static_cast<double>(most.bytes) * count / static_cast<double>(all.bytes);
  }
  if (all.load > 0) skew.load = most.load * count / all.load;
  return skew;
}

MoveQuestion After(MoveQuestion question, const std::vector<PlannedMove>& moves) {
  for (const PlannedMove& move : moves) question.owners[move.partition] = move.to;
  return question;
}

}  // namespace capstan::chief
