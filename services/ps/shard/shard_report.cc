// Shard: what a shard tells of itself, to its metrics and to the chief.
#include <algorithm>

#include "ps/shard/shard.h"

namespace capstan::ps {

void Shard::AddMemory(ShardFacts& facts) const {
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    const ByteBudget& account = memory_.of(use);
    facts.memory[i] = {
        .held = account.held(), .limit = account.limit(), .refused = memory_.refused(use)};
    if (use == MemoryUse::kWaitingPulls) facts.memory[i].held = clocks_.facts().parked_bytes;
    if (use == MemoryUse::kReplicas) facts.memory[i].held = streams_.most_bytes();
  }
  facts.waiting_bytes = memory_.of(MemoryUse::kWaitingGradients).held();
  facts.untaken_bytes = streams_.bytes();
  facts.kept = static_cast<uint64_t>(std::max<int64_t>(0, kept_.bytes()));
}

ShardFacts Shard::Facts() const {
  ShardFacts facts(catalog_.job());
  for (size_t index = 0; index < partitions_.size(); ++index) {
    const Partition& partition = *partitions_[index];
    if (!partition.loaded()) continue;
    const PartitionFacts of = partition.facts();
    if (partition.serves()) {
      facts.Add(static_cast<PartitionIndex>(index), of);
    } else {
      facts.backup_bytes += of.bytes;
    }
  }
  AddMemory(facts);
  if (clocks_.needed()) {
    const ClockShell::Facts clocks = clocks_.facts();
    facts.clocks = {.spread = clocks.spread, .trainers = clocks.trainers};
    facts.parked = clocks.parked;
  }
  return facts;
}

v1::ShardReport Shard::Report(const ShardFacts& facts) const {
  v1::ShardReport report = ReportOf(facts);
  metrics_.Report(report);
  AddBroken(report);
  return report;
}

}  // namespace capstan::ps
