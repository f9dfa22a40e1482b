// What a partition serves: its parameters, and where its protocol stands.
#ifndef CAPSTAN_PS_SHARD_PARTITION_CONTENT_H_
#define CAPSTAN_PS_SHARD_PARTITION_CONTENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/store/partition_store.h"
#include "capstan/store/slab_arena.h"
#include "ps/machines/partition_machine.h"
#include "ps/shard/catalog.h"

namespace capstan::ps {

struct PartitionContent {
  std::unique_ptr<PartitionStore> store;
  PartitionMachine machine;
  std::string base = {};  // The checkpoint that it was read from whole; empty: none.
  ViewEpoch origin = {};  // The move by which it came; 0.0: it was loaded.
};

// Batches found missing in the parts that the partition holds something of.
uint64_t BatchesLost(const PartitionStore& store, const PartitionMachine& machine);

// Returns the options of the machine of any partition of this job, in this timeline.
PartitionOptions MachineOptions(const Catalog& catalog, Timeline timeline);

// Initial values. `slabs` must outlive the content.
absl::StatusOr<PartitionContent> InitialContent(const Catalog& catalog, PartitionIndex index,
                                                Timeline timeline, SlabArena& slabs);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PARTITION_CONTENT_H_
