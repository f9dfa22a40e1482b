// What a shard reports of itself, in its metrics and in its heartbeats to the chief.
#ifndef CAPSTAN_PS_PARTITION_SHARD_FACTS_H_
#define CAPSTAN_PS_PARTITION_SHARD_FACTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/store/memory_limits.h"
#include "capstan/store/table.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "ps/partition/partition_facts.h"

namespace capstan::ps {

// Thread-compatible.
struct ShardFacts {
  struct OfTable {
    std::string name;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t hot_rows = 0;
    uint64_t hot_rows_unsaved = 0;
    TableCounters counters;
  };
  struct Clocks {
    uint64_t spread = 0;  // The difference between the fastest and the slowest trainer's clock.
    uint64_t trainers = 0;
  };
  struct OfUse {
    uint64_t held = 0;  // Bytes; so is the limit.
    uint64_t limit = 0;
    uint64_t refused = 0;  // How many requests were refused for lack of memory.
  };

  // The facts of a shard that serves no partition of `job` yet.
  explicit ShardFacts(const v1::JobSpec& job);

  // Adds a partition that the shard serves. Must be called with ascending indexes.
  void Add(PartitionIndex index, const PartitionFacts& of);

  uint64_t rows = 0;
  uint64_t parameters = 0;
  uint64_t bytes = 0;
  uint64_t version = 0;
  uint64_t queued = 0;
  uint64_t parked = 0;
  uint64_t backup_bytes = 0;              // Bytes of partitions that this shard holds as a backup.
  uint64_t untaken_bytes = 0;             // Bytes of operations that backups have not confirmed.
  uint64_t waiting_bytes = 0;             // Bytes of gradients that wait for others.
  uint64_t kept = 0;                      // Bytes kept for copies.
  uint64_t lost = 0;                      // Lost batches, summed over partitions.
  std::array<OfUse, kMemoryUses> memory;  // By MemoryUse.
  std::vector<OfTable> tables;
  std::optional<Clocks> clocks;          // With ssp.
  std::map<uint32_t, uint64_t> updates;  // Updates of rows and blocks, by partition.
  std::vector<v1::PartitionLoad> loads;  // The load of each partition, in ascending order.
};

// Returns `facts` as a report to the chief.
v1::ShardReport ReportOf(const ShardFacts& facts);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_SHARD_FACTS_H_
