#include "chief/machines/applied_batches.h"

#include <algorithm>

#include "capstan/consistency/decisions.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 60;  // Higher counts are limited to this.
// A queue holds at most this many times the gradients that one update takes.
constexpr uint64_t kUpdatesInQueue = 2;

uint64_t Times(uint64_t count, uint64_t factor) { return std::min(count, kMost / factor) * factor; }

bool HasTensorsThatChange(const v1::JobSpec& spec) {
  return std::any_of(
      spec.tensors().begin(), spec.tensors().end(),
      [](const v1::TensorSpec& tensor) { return tensor.role() != v1::TENSOR_ROLE_FROZEN; });
}

// Returns the most batches that can have been sent to any one of the shard's partitions. A
// partition that has recovered alone lacks the updates of the batches that it counts as lost.
uint64_t MostOfAPartition(const v1::ShardReport& report, uint64_t aggregate) {
  const uint64_t waiting = aggregate > 1 ? kUpdatesInQueue : 0;
  const uint64_t updates = std::min(report.version(), kMost) + waiting;
  return Times(updates, aggregate) + std::min(report.batches_lost(), kMost);
}

uint64_t Plus(uint64_t count, uint64_t more) {
  return std::min(std::min(count, kMost) + std::min(more, kMost), kMost);
}

// Returns true if the shard runs a version that counts batches. One without updates may.
bool CountsBatches(const v1::ShardReport& report) {
  return report.version() == 0 ||
         std::any_of(report.partitions().begin(), report.partitions().end(),
                     [](const v1::PartitionLoad& load) { return load.has_batches(); });
}

// Returns how many batches the owners of the partitions have counted, and lost, in a job with
// tables only. A partition that has just changed its owner is omitted until the new owner reports
// it. Returns nullopt if a shard does not count them.
std::optional<uint64_t> BatchesCounted(const ShardTable& shards, const v1::View& view) {
  const auto partitions = static_cast<uint32_t>(view.owners_size());
  uint64_t counted = 0;
  for (const auto& [index, shard] : shards.shards()) {
    if (!CountsBatches(shard.report)) return std::nullopt;
    counted = Plus(counted, shard.report.batches_lost());
    for (const v1::PartitionLoad& load : shard.report.partitions()) {
      const uint32_t partition = load.partition();
      const bool owns = partition < partitions && view.owners(static_cast<int>(partition)) == index;
      if (owns) counted = Plus(counted, load.batches());
    }
  }
  return counted;
}

}  // namespace

std::optional<uint64_t> MostBatchesApplied(const v1::JobSpec& spec, const ShardTable& shards,
                                           const v1::View& view) {
  const bool dense = HasTensorsThatChange(spec);
  const v1::UpdatePolicy& policy = dense ? spec.dense_update() : spec.sparse_update();
  if (policy.stale_gradients() == v1::STALE_GRADIENTS_DROP) return std::nullopt;
  if (!dense) {
    const std::optional<uint64_t> counted = BatchesCounted(shards, view);
    if (counted) return counted;
  }
  uint64_t most = 0;
  for (const auto& [index, shard] : shards.shards()) {
    most = std::max(most, MostOfAPartition(shard.report, AggregateOf(policy)));
  }
  return dense ? most : Times(most, std::max(spec.partition_count(), 1u));
}

}  // namespace capstan::chief
