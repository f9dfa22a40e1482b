#include "ps/partition/shard_facts.h"

#include <algorithm>

#include "ps/partition/memory_budget.h"

namespace capstan::ps {

ShardFacts::ShardFacts(const v1::JobSpec& job) {
  for (const v1::TableSpec& table : job.tables()) tables.push_back({.name = table.name()});
}

void ShardFacts::Add(PartitionIndex index, const PartitionFacts& of) {
  v1::PartitionLoad& load = loads.emplace_back();
  load.set_partition(static_cast<uint32_t>(Raw(index)));
  load.set_bytes(of.bytes);
  load.set_pulled_rows(of.pulled_rows);
  load.set_pushed_rows(of.pushed_rows);
  load.set_batches(of.batches);
  bytes += of.bytes;
  parameters += of.parameters;
  queued += of.queued;
  lost += of.lost;
  version = std::max(version, of.version);
  uint64_t& updated = updates[load.partition()];
  updated = of.version;
  for (size_t i = 0; i < of.tables.size(); ++i) {
    OfTable& table = tables[i];
    const PartitionFacts::OfTable& more = of.tables[i];
    rows += more.rows;
    updated += more.counters.updated;
    table.rows += more.rows;
    table.bytes += more.bytes;
    table.hot_rows += more.hot_rows;
    table.hot_rows_unsaved += more.hot_rows_unsaved;
    table.counters += more.counters;
  }
}

v1::ShardReport ReportOf(const ShardFacts& facts) {
  v1::ShardReport report;
  report.set_rows(facts.rows);
  report.set_parameter_bytes(facts.bytes);
  report.set_version(facts.version);
  report.set_batches_lost(facts.lost);
  report.set_backup_bytes(facts.backup_bytes);
  for (const ShardFacts::OfTable& table : facts.tables) {
    v1::TableReport& of = *report.add_tables();
    of.set_rows(table.rows);
    of.set_updates(table.counters.updated);
    of.set_hot_rows(table.hot_rows);
    of.set_hot_rows_unsaved(table.hot_rows_unsaved);
  }
  for (const v1::PartitionLoad& load : facts.loads) *report.add_partitions() = load;
  for (size_t i = 0; i < kMemoryUses; ++i) {
    v1::MemoryReport& of = *report.add_memory();
    of.set_what(std::string(WordsOf(static_cast<MemoryUse>(i))));
    of.set_held(facts.memory[i].held);
    of.set_limit(facts.memory[i].limit);
    of.set_refused(facts.memory[i].refused);
  }
  return report;
}

}  // namespace capstan::ps
