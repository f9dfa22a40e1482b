#include "ps/save_job.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/objectstore/object_store.h"
#include "ps/machine_state.h"

namespace capstan::ps {

absl::Status SaveJob::Run() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           OpenObjectStore(order_.uri()));
  return shard_.ForEachPartition([&](PartitionIndex index, Partition& partition) {
    if (cancelled_) return absl::CancelledError("another order has come");
    return SaveOne(*folder, index, partition);
  });
}

absl::Status SaveJob::SaveOne(ObjectStore& folder, PartitionIndex index, Partition& partition) {
  std::string encoded;
  uint64_t rows = 0;
  const Timeline timeline{order_.header().timeline()};
  const bool visited =
      partition.Visit(timeline, shard_.clock().Now(),
                      [&](const PartitionStore& store, const PartitionState& state) {
                        encoded = EncodePartition(
                            store, {.partition_count = shard_.catalog().job().partition_count(),
                                    .timeline = Raw(timeline),
                                    .machine = EncodeMachineState(state)});
                        rows = store.row_count();
                      });
  if (!visited) {
    return absl::FailedPreconditionError(
        absl::StrCat("partition ", Raw(index), " is not of timeline ", Raw(timeline), " any more"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(v1::SavedFile file, WritePartitionFile(folder, index, encoded, rows));
  files_.push_back(std::move(file));
  ++saved_;
  return absl::OkStatus();
}

}  // namespace capstan::ps
