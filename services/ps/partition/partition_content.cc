#include "ps/partition/partition_content.h"

#include <algorithm>
#include <utility>

#include "capstan/base/status.h"

namespace capstan::ps {

uint64_t BatchesLost(const PartitionStore& store, const PartitionMachine& machine) {
  const uint64_t dense = store.blocks().blocks().empty() ? 0 : machine.lost(Part::kDense);
  return dense + (store.tables().empty() ? 0 : machine.lost(Part::kSparse));
}

PartitionOptions MachineOptions(const Catalog& catalog, Timeline timeline) {
  const v1::JobSpec& job = catalog.job();
  return {.timeline = timeline,
          .dense = job.dense_update(),
          .sparse = job.sparse_update(),
          .lanes = {.batch_size = std::max(job.train().batch_size(), 1u),
                    .sum_loss = job.train().sum_loss()}};
}

absl::StatusOr<PartitionContent> InitialContent(const Catalog& catalog, PartitionIndex index,
                                                Timeline timeline, SlabArena& slabs) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<PartitionStore> store,
                           PartitionStore::Create(catalog.job(), catalog.layout(), index, &slabs));
  return PartitionContent{std::move(store), PartitionMachine(MachineOptions(catalog, timeline)),
                          /*base=*/""};
}

}  // namespace capstan::ps
