#include "ps/transfer/save_job.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/read_copy.h"

namespace capstan::ps {
namespace {

// How often a copy that waits checks whether the store has caught up.
constexpr absl::Duration kGlance = absl::Milliseconds(5);

}  // namespace

SaveJob::SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, Outside outside,
                 size_t may_wait)
    : shard_(shard), order_(order), outside_(std::move(outside)), may_wait_(may_wait) {
  (void)shard_.partitions().ForEachServed([this](PartitionIndex index, Partition& partition) {
    items_.push_back({.index = index, .partition = &partition});
    return absl::OkStatus();
  });
}

void SaveJob::Mark() {
  shard_.accounts().LimitKept();
  marked_ = MarkAll();
}

absl::Status SaveJob::MarkAll() {
  if (!shard_.catalog().HasSync()) return absl::OkStatus();
  for (Item& item : items_) CAPSTAN_RETURN_IF_ERROR(Begin(item));
  CAPSTAN_FAILPOINT("save.all_marked");
  return absl::OkStatus();
}

absl::Status SaveJob::Begin(Item& item) {
  item.copy = item.partition->BeginCopy({.timeline = Timeline{order_.header().timeline()},
                                         .parent = order_.parent(),
                                         .close = order_.freeze(),
                                         .checkpoint = order_.id()},
                                        shard_.clock().Now());
  return item.copy ? absl::OkStatus() : TimelineIsOver(item);
}

absl::Status SaveJob::TimelineIsOver(const Item& item) const {
  return absl::FailedPreconditionError(absl::StrCat("partition ", Raw(item.index),
                                                    " is not served here in timeline ",
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
  CAPSTAN_RETURN_IF_ERROR(marked_);
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           outside_.open_store(order_.uri()));
  for (auto item = items_.begin(); item != items_.end();) {
    PartitionPack pack(*folder, outside_.background, &taken_);
    for (; item != items_.end() && !pack.enough(); ++item) {
      CAPSTAN_RETURN_IF_ERROR(Copy(*item, pack));
    }
    CAPSTAN_RETURN_IF_ERROR(Publish(pack));
  }
  return absl::OkStatus();
}

absl::Status SaveJob::WaitForStore(const PartitionPack& pack) const {
  while (!cancelled_ && pack.waiting_bytes() >= may_wait_ && !shard_.kept().full()) {
    outside_.background.SleepFor(kGlance);
  }
  return cancelled_ ? absl::CancelledError("another order has come") : absl::OkStatus();
}

absl::Status SaveJob::Copy(Item& item, PartitionPack& pack) {
  CAPSTAN_RETURN_IF_ERROR(pack.Begin(item.index));
  if (!item.copy) CAPSTAN_RETURN_IF_ERROR(Begin(item));
  PartitionEncoder encoder({.partition_count = shard_.catalog().job().partition_count(),
                            .timeline = order_.header().timeline(),
                            .machine = EncodeMachineState(item.copy->state),
                            .parent = item.copy->parent});
  CAPSTAN_ASSIGN_OR_RETURN(
      const bool all, ReadCopy(
                          *item.partition, encoder, [this, &pack] { return WaitForStore(pack); },
                          [&pack](std::string piece) { return pack.Append(std::move(piece)); }));
  if (!all) return TimelineIsOver(item);
  item.partition->EndCopy(shard_.clock().Now());
  const uint64_t rows = encoder.rows();
  CAPSTAN_RETURN_IF_ERROR(pack.Append(std::move(encoder).TakeRest()));
  CAPSTAN_RETURN_IF_ERROR(pack.End(rows, /*delta=*/!item.copy->parent.empty()));
  return CAPSTAN_FAILPOINT_STATUS("save.copied");
}

absl::Status SaveJob::Publish(PartitionPack& pack) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<v1::SavedFile> files, pack.Commit());
  for (const v1::SavedFile& file : files) bytes_ += file.bytes();
  files_.insert(files_.end(), files.begin(), files.end());
  saved_ = files_.size();
  return CAPSTAN_FAILPOINT_STATUS("save.object_written");
}

}  // namespace capstan::ps
