#include "ps/save_job.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "ps/machine_state.h"

namespace capstan::ps {

SaveJob::SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, StoreOpener open)
    : shard_(shard), order_(order), open_(std::move(open)) {
  (void)shard_.ForEachPartition([this](PartitionIndex index, Partition& partition) {
    items_.push_back({.index = index, .partition = &partition});
    return absl::OkStatus();
  });
}

absl::Status SaveJob::Mark() {
  shard_.LimitKept();
  const Catalog& catalog = shard_.catalog();
  if (!catalog.IsSync(Part::kDense) && !catalog.IsSync(Part::kSparse)) return absl::OkStatus();
  for (Item& item : items_) CAPSTAN_RETURN_IF_ERROR(Begin(item));
  CAPSTAN_FAILPOINT("save.all_marked");
  return absl::OkStatus();
}

absl::Status SaveJob::Begin(Item& item) {
  item.copy = item.partition->BeginCopy({.timeline = Timeline{order_.header().timeline()},
                                         .parent = order_.parent(),
                                         .close = order_.freeze()},
                                        shard_.clock().Now());
  return item.copy ? absl::OkStatus() : TimelineIsOver(item);
}

absl::Status SaveJob::TimelineIsOver(const Item& item) const {
  return absl::FailedPreconditionError(absl::StrCat("partition ", Raw(item.index),
                                                    " is not of timeline ",
                                                    order_.header().timeline(), " any more"));
}

absl::Status SaveJob::Run() {
  const absl::Status status = SaveAll();
  CAPSTAN_FAILPOINT("save.all_written");
  const absl::Time now = shard_.clock().Now();
  for (Item& item : items_) {
    if (item.copy) item.partition->SettleCopy(status.ok() ? order_.id() : "", now);
  }
  return status;
}

absl::Status SaveJob::SaveAll() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder, open_(order_.uri()));
  for (Item& item : items_) CAPSTAN_RETURN_IF_ERROR(SaveOne(*folder, item));
  return absl::OkStatus();
}

absl::Status SaveJob::SaveOne(ObjectStore& folder, Item& item) {
  if (!item.copy) CAPSTAN_RETURN_IF_ERROR(Begin(item));
  uint64_t rows = 0;
  CAPSTAN_ASSIGN_OR_RETURN(const std::string encoded, Encode(item, rows));
  item.partition->EndCopy(shard_.clock().Now());
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("save.copied"));
  CAPSTAN_ASSIGN_OR_RETURN(v1::SavedFile file,
                           WritePartitionFile(folder, item.index, encoded, rows));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("save.file_written"));
  file.set_delta(!item.copy->parent.empty());
  files_.push_back(std::move(file));
  bytes_ += encoded.size();
  ++saved_;
  return absl::OkStatus();
}

absl::StatusOr<std::string> SaveJob::Encode(Item& item, uint64_t& rows) {
  PartitionEncoder encoder({.partition_count = shard_.catalog().job().partition_count(),
                            .timeline = order_.header().timeline(),
                            .machine = EncodeMachineState(item.copy->state),
                            .parent = item.copy->parent});
  while (encoder.Prepare()) {
    if (cancelled_) return absl::CancelledError("another order has come");
    const bool read = item.partition->ReadCopy([&](PartitionStore& store) { encoder.Read(store); });
    if (!read) return TimelineIsOver(item);
  }
  rows = encoder.rows();
  return std::move(encoder).TakeFile();
}

}  // namespace capstan::ps
