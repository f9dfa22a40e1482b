// Shard: what a shard tells of itself, to its metrics and to the chief.
#include <algorithm>
#include <string>

#include "ps/shard/shard.h"

namespace capstan::ps {

ShardMetrics::MemoryByUse Shard::Memory() const {
  ShardMetrics::MemoryByUse facts;
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    const ByteBudget& account = memory_.of(use);
    facts[i] = {.held = account.held(), .limit = account.limit(), .refused = memory_.refused(use)};
    if (use == MemoryUse::kWaitingPulls) facts[i].held = clocks_.facts().parked_bytes;
    if (use == MemoryUse::kReplicas) facts[i].held = streams_.most_bytes();
  }
  return facts;
}

ShardMetrics::ShardFacts Shard::Facts() const {
  ShardMetrics::ShardFacts facts;
  for (const v1::TableSpec& table : catalog_.job().tables()) {
    facts.tables.push_back({.name = table.name()});
  }
  for (size_t index = 0; index < partitions_.size(); ++index) {
    const Partition& partition = *partitions_[index];
    if (!partition.loaded()) continue;
    const Partition::Facts of = partition.facts();
    if (!partition.serves()) {
      facts.backup_bytes += of.bytes;
      continue;
    }
    v1::PartitionLoad& load = facts.loads.emplace_back();
    load.set_partition(static_cast<uint32_t>(index));
    load.set_bytes(of.bytes);
    load.set_pulled_rows(of.pulled_rows);
    load.set_pushed_rows(of.pushed_rows);
    uint64_t& updates = facts.updates[static_cast<uint32_t>(index)];
    updates = of.version;
    facts.bytes += of.bytes;
    facts.parameters += of.parameters;
    facts.queued += of.queued;
    facts.lost += of.lost;
    facts.version = std::max(facts.version, of.version);
    for (size_t i = 0; i < of.tables.size(); ++i) {
      ShardMetrics::TableFacts& table = facts.tables[i];
      facts.rows += of.tables[i].rows;
      table.rows += of.tables[i].rows;
      table.bytes += of.tables[i].bytes;
      table.hot_rows += of.tables[i].hot_rows;
      table.hot_rows_unsaved += of.tables[i].hot_rows_unsaved;
      table.counters.updated += of.tables[i].counters.updated;
      updates += of.tables[i].counters.updated;
      table.counters.created += of.tables[i].counters.created;
      table.counters.evicted += of.tables[i].counters.evicted;
      table.counters.expired += of.tables[i].counters.expired;
      table.counters.not_admitted += of.tables[i].counters.not_admitted;
      table.counters.refused += of.tables[i].counters.refused;
      table.counters.stale += of.tables[i].counters.stale;
    }
  }
  facts.memory = Memory();
  facts.waiting_bytes = memory_.of(MemoryUse::kWaitingGradients).held();
  facts.untaken_bytes = streams_.bytes();
  facts.kept = static_cast<uint64_t>(std::max<int64_t>(0, kept_.bytes()));
  if (clocks_.needed()) {
    const ClockShell::Facts clocks = clocks_.facts();
    facts.clocks = {.spread = clocks.spread, .trainers = clocks.trainers};
    facts.parked = clocks.parked;
  }
  return facts;
}

namespace {

void AddMemory(const ShardMetrics::MemoryByUse& memory, v1::ShardReport& report) {
  for (size_t i = 0; i < kMemoryUses; ++i) {
    v1::MemoryReport& of = *report.add_memory();
    of.set_what(std::string(WordsOf(static_cast<MemoryUse>(i))));
    of.set_held(memory[i].held);
    of.set_limit(memory[i].limit);
    of.set_refused(memory[i].refused);
  }
}

}  // namespace

v1::ShardReport Shard::Report() const {
  const ShardMetrics::ShardFacts facts = Facts();
  metrics_.Set(facts);
  v1::ShardReport report;
  metrics_.Report(report);
  report.set_rows(facts.rows);
  report.set_parameter_bytes(facts.bytes);
  report.set_version(facts.version);
  report.set_batches_lost(facts.lost);
  report.set_backup_bytes(facts.backup_bytes);
  AddBroken(report);
  for (const ShardMetrics::TableFacts& table : facts.tables) {
    v1::TableReport& of = *report.add_tables();
    of.set_rows(table.rows);
    of.set_updates(table.counters.updated);
    of.set_hot_rows(table.hot_rows);
    of.set_hot_rows_unsaved(table.hot_rows_unsaved);
  }
  for (const v1::PartitionLoad& load : facts.loads) *report.add_partitions() = load;
  AddMemory(facts.memory, report);
  return report;
}

}  // namespace capstan::ps
