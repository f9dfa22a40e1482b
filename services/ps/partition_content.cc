#include "ps/partition_content.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan::ps {

PartitionOptions MachineOptions(const Catalog& catalog, Timeline timeline) {
  const v1::JobSpec& job = catalog.job();
  return {.timeline = timeline,
          .dense = job.dense_update(),
          .sparse = job.sparse_update(),
          .sum_loss = job.train().sum_loss()};
}

absl::StatusOr<PartitionContent> InitialContent(const Catalog& catalog, PartitionIndex index,
                                                Timeline timeline, SlabArena& slabs) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<PartitionStore> store,
                           PartitionStore::Create(catalog.job(), catalog.layout(), index, &slabs));
  return PartitionContent{std::move(store), PartitionMachine(MachineOptions(catalog, timeline)),
                          /*base=*/""};
}

}  // namespace capstan::ps
