// What a partition serves: its parameters, and the state of its protocol.
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
  // The checkpoint from which all of the content was read; empty if there is none.
  std::string base = {};
  ViewEpoch origin = {};  // The move by which the content came; 0.0 if it was loaded.
};

// Returns how many batches were found missing, summed over those parts of the model of which the
// partition holds something.
uint64_t BatchesLost(const PartitionStore& store, const PartitionMachine& machine);

// Returns the options of the machine of every partition of this job, in this timeline.
PartitionOptions MachineOptions(const Catalog& catalog, Timeline timeline);

// Creates a partition with initial values. `slabs` must outlive the content.
absl::StatusOr<PartitionContent> InitialContent(const Catalog& catalog, PartitionIndex index,
                                                Timeline timeline, SlabArena& slabs);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_CONTENT_H_
