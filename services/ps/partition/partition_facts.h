// What a partition reports for the metrics and the heartbeats of its shard.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_FACTS_H_
#define CAPSTAN_PS_PARTITION_PARTITION_FACTS_H_

#include <cstdint>
#include <vector>

#include "capstan/store/partition_store.h"
#include "capstan/store/table.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

struct PartitionFacts {
  struct OfTable {
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t hot_rows = 0;
    uint64_t hot_rows_unsaved = 0;
    TableCounters counters;
  };
  std::vector<OfTable> tables;  // In the order of the job's tables.
  uint64_t bytes = 0;
  uint64_t parameters = 0;  // Weights, of rows and blocks.
  uint64_t version = 0;     // The higher version of the two parts.
  uint64_t batches = 0;     // Batches with rows that were counted here; see StreamPart::batches.
  uint64_t queued = 0;
  uint64_t lost = 0;  // Batches lost by a partial recovery.
  // Counted since the content was loaded.
  uint64_t pulled_rows = 0;  // Blocks count as rows here.
  uint64_t pushed_rows = 0;
};

// Returns the facts of the store and the machine. `bytes` is the memory of the store; pulled_rows
// and pushed_rows are 0.
PartitionFacts FactsOf(const PartitionStore& store, const PartitionMachine& machine);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_FACTS_H_
