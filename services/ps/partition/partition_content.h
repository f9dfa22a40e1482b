// What a partition serves: its parameters, and where its protocol stands.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_CONTENT_H_
#define CAPSTAN_PS_PARTITION_PARTITION_CONTENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/store/partition_store.h"
#include "capstan/store/slab_arena.h"
#include "ps/machines/partition_machine.h"
#include "ps/partition/catalog.h"

namespace capstan::ps {

struct PartitionContent {
  std::unique_ptr<PartitionStore> store;
  PartitionMachine machine;
  std::string base = {};  // The checkpoint that the content was read from, all of it; empty: none.
  ViewEpoch origin = {};  // The move by which the content came; 0.0: it was loaded.
};

// The number of batches found missing, summed over the parts of the model of which the partition
// holds something.
uint64_t BatchesLost(const PartitionStore& store, const PartitionMachine& machine);

// Returns the options of the machine of any partition of this job, in this timeline.
PartitionOptions MachineOptions(const Catalog& catalog, Timeline timeline);

// Makes a partition with initial values. `slabs` must outlive the content.
absl::StatusOr<PartitionContent> InitialContent(const Catalog& catalog, PartitionIndex index,
                                                Timeline timeline, SlabArena& slabs);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_CONTENT_H_
