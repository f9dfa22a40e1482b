#include "ps/partition/partition_facts.h"

#include <algorithm>
#include <memory>

#include "ps/partition/partition_content.h"

namespace capstan::ps {

PartitionFacts FactsOf(const PartitionStore& store, const PartitionMachine& machine) {
  PartitionFacts facts;
  for (const std::unique_ptr<Table>& table : store.tables()) {
    facts.tables.push_back({.rows = table->row_count(),
                            .bytes = table->memory_bytes(),
                            .hot_rows = table->hot_rows(),
                            .hot_rows_unsaved = table->hot_rows_unsaved(),
                            .counters = table->counters()});
    facts.parameters += table->row_count() * table->dim();
  }
  for (const Block& block : store.blocks().blocks()) facts.parameters += block.length;
  facts.bytes = store.memory_bytes();
  facts.version = std::max(machine.version(Part::kDense), machine.version(Part::kSparse));
  facts.batches = machine.batches(Part::kSparse);
  facts.queued = machine.queued();
  facts.lost = BatchesLost(store, machine);
  return facts;
}

}  // namespace capstan::ps
