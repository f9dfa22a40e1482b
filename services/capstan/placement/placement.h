// The partition of each parameter of a model: of rows by the hash of their key, of dense blocks by
// their size. Pure functions of the job's layout, so that workers, shards and a restore agree
// without communication. They are part of the checkpoint format and must never change
// (tests/unit/placement has golden values).
#ifndef CAPSTAN_PLACEMENT_PLACEMENT_H_
#define CAPSTAN_PLACEMENT_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/base/ids.h"

namespace capstan {

// Returns the partition of a row. REQUIRES: partition_count > 0.
inline PartitionIndex PartitionOfKey(uint64_t key, uint64_t table_seed, uint32_t partition_count) {
  return static_cast<PartitionIndex>(Mix64(key ^ table_seed) % partition_count);
}

// Returns the initial partition -> shard map of a job: partition p goes to shard p % shard_count.
// REQUIRES: shard_count > 0.
std::vector<uint32_t> FirstShardMap(uint32_t partition_count, uint32_t shard_count);

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_PLACEMENT_H_
