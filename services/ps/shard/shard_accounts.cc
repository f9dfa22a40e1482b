#include "ps/shard/shard_accounts.h"

#include <algorithm>
#include <limits>

#include "capstan/store/memory_limits.h"

namespace capstan::ps {

void ShardAccounts::AddMemory(ShardFacts& facts) const {
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    const ByteBudget& account = parts_.memory.of(use);
    facts.memory[i] = {
        .held = account.held(), .limit = account.limit(), .refused = parts_.memory.refused(use)};
    if (use == MemoryUse::kWaitingPulls) facts.memory[i].held = parts_.clocks.facts().parked_bytes;
    if (use == MemoryUse::kReplicas) facts.memory[i].held = parts_.streams.most_bytes();
  }
  facts.waiting_bytes = parts_.memory.of(MemoryUse::kWaitingGradients).held();
  facts.untaken_bytes = parts_.streams.bytes();
  facts.kept = static_cast<uint64_t>(std::max<int64_t>(0, parts_.kept.bytes()));
}

ShardFacts ShardAccounts::Facts() const {
  ShardFacts facts(parts_.catalog.job());
  parts_.partitions.ForEach([&facts](PartitionIndex index, const Partition& partition) {
    if (!partition.loaded()) return;
    const PartitionFacts of = partition.facts();
    if (partition.serves()) {
      facts.Add(index, of);
    } else {
      facts.backup_bytes += of.bytes;
    }
  });
  AddMemory(facts);
  if (parts_.clocks.needed()) {
    const ClockShell::Facts clocks = parts_.clocks.facts();
    facts.clocks = {.spread = clocks.spread, .trainers = clocks.trainers};
    facts.parked = clocks.parked;
  }
  return facts;
}

// The machine's own limit applies until SetMemory is called.
static_assert(ClockMachine::kMaxParkedBytes ==
              MemoryLimit(MemoryUse::kWaitingPulls, std::numeric_limits<uint64_t>::max()));

void ShardAccounts::SetMemory(uint64_t bytes) {
  parts_.memory.SetMemory(bytes);
  parts_.clocks.SetParkedLimit(parts_.memory.of(MemoryUse::kWaitingPulls).limit());
  parts_.streams.SetLimit(parts_.memory.of(MemoryUse::kReplicas).limit());
}

void ShardAccounts::LimitWaiting(const v1::ShardReport& report) {
  if (NeedsRoomForAll(parts_.catalog.job())) return;
  const uint64_t parameters = report.parameter_bytes();
  const uint64_t images = parts_.catalog.HasSync() ? MostImages(parameters) : 0;
  parts_.memory.LimitWaiting(
      kShardProcessBytes + parameters + report.backup_bytes() + images + parts_.streams.bytes(),
      /*copies=*/parts_.replicated ? 2 : 1);
}

// Without synchronous parts one partition is copied after the other, so the size of a partition
// limits what is kept.
void ShardAccounts::LimitKept() {
  if (!parts_.catalog.HasSync()) return;
  parts_.kept.SetLimit(static_cast<int64_t>(KeptImagesLimit(Facts().bytes)));
}

}  // namespace capstan::ps
