#include "chief/state/partition_loads.h"

#include <cmath>

namespace capstan::chief {
namespace {

constexpr double kAverageSeconds = 10;  // Time constant of the moving average.

}  // namespace

void PartitionLoads::Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report,
                          const v1::View& view, absl::Time now) {
  for (const v1::PartitionLoad& load : report.partitions()) {
    const uint32_t partition = load.partition();
    if (partition >= known_.size() || partition >= static_cast<uint32_t>(view.owners_size()) ||
        view.owners(static_cast<int>(partition)) != shard) {
      continue;
    }
    Known& known = known_[partition];
    known.weight.bytes = load.bytes();
    const uint64_t rows = load.pulled_rows() + load.pushed_rows();
    const double seconds = absl::ToDoubleSeconds(now - known.at);
    // A new owner counts rows from 0, but the traffic of the partition continues: the average is
    // kept.
    if (known.incarnation == incarnation && rows >= known.rows && seconds > 0) {
      const double rate = static_cast<double>(rows - known.rows) / seconds;
      known.weight.load += (rate - known.weight.load) * (1 - std::exp(-seconds / kAverageSeconds));
    }
    known.incarnation = incarnation;
    known.rows = rows;
    known.at = now;
  }
}

std::vector<PartitionWeight> PartitionLoads::weights() const {
  std::vector<PartitionWeight> weights;
  weights.reserve(known_.size());
  for (const Known& known : known_) weights.push_back(known.weight);
  return weights;
}

PartitionWeight PartitionLoads::OfShard(uint32_t shard, const v1::View& view) const {
  PartitionWeight sum;
  for (size_t i = 0; i < known_.size() && i < static_cast<size_t>(view.owners_size()); ++i) {
    if (view.owners(static_cast<int>(i)) != shard) continue;
    sum.bytes += known_[i].weight.bytes;
    sum.load += known_[i].weight.load;
  }
  return sum;
}

}  // namespace capstan::chief
