#include "ps/save_job.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "ps/machine_state.h"

namespace capstan::ps {

namespace {

// Some 0.1 ms. A scheduler lets a thread of any niceness finish a turn of some milliseconds before
// a request is served that has come meanwhile, unless the thread offers the core by itself; and it
// may take a whole turn from one that does, so not too often.
constexpr int kReadsATurn = 8;

}  // namespace

SaveJob::SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, Outside outside)
    : shard_(shard), order_(order), outside_(std::move(outside)) {
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
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           outside_.open_store(order_.uri()));
  if (items_.empty()) return absl::OkStatus();
  std::vector<std::unique_ptr<Background::Work>> helpers;
  {
    CAPSTAN_ASSIGN_OR_RETURN(const Encoded first, Copy(items_.front()));
    const size_t fit = kBytesAtOnce / std::max<size_t>(1, first.bytes.size());
    for (size_t i = 1; i < std::min(fit, kMostThreads); ++i) {
      helpers.push_back(outside_.background.Begin([this, &folder] { Work(*folder); }));
    }
    Note(Write(*folder, items_.front(), first));
  }
  Work(*folder);
  helpers.clear();  // Each has ended.
  absl::MutexLock lock(&mu_);
  return failure_;
}

void SaveJob::Work(ObjectStore& folder) {
  for (size_t place = next_++; place < items_.size(); place = next_++) {
    const absl::StatusOr<Encoded> encoded = Copy(items_[place]);
    Note(encoded.ok() ? Write(folder, items_[place], *encoded) : encoded.status());
  }
}

void SaveJob::Note(const absl::Status& status) {
  if (status.ok()) return;
  absl::MutexLock lock(&mu_);
  failure_.Update(status);
  next_ = items_.size();
}

absl::Status SaveJob::Write(ObjectStore& folder, Item& item, const Encoded& encoded) {
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("save.copied"));
  CAPSTAN_ASSIGN_OR_RETURN(item.file,
                           WritePartitionFile(folder, item.index, encoded.bytes, encoded.rows));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("save.file_written"));
  item.file.set_delta(!item.copy->parent.empty());
  bytes_ += encoded.bytes.size();
  ++saved_;
  return absl::OkStatus();
}

std::vector<v1::SavedFile> SaveJob::files() const {
  std::vector<v1::SavedFile> files;
  for (const Item& item : items_) files.push_back(item.file);
  return files;
}

absl::StatusOr<SaveJob::Encoded> SaveJob::Copy(Item& item) {
  absl::MutexLock lock(&copying_);
  if (!item.copy) CAPSTAN_RETURN_IF_ERROR(Begin(item));
  absl::StatusOr<Encoded> encoded = Encode(item);
  if (encoded.ok()) item.partition->EndCopy(shard_.clock().Now());
  return encoded;
}

absl::StatusOr<SaveJob::Encoded> SaveJob::Encode(Item& item) {
  PartitionEncoder encoder({.partition_count = shard_.catalog().job().partition_count(),
                            .timeline = order_.header().timeline(),
                            .machine = EncodeMachineState(item.copy->state),
                            .parent = item.copy->parent});
  for (int reads = 1; encoder.Prepare(); ++reads) {
    if (cancelled_) return absl::CancelledError("another order has come");
    if (reads % kReadsATurn == 0) std::this_thread::yield();
    const bool read = item.partition->ReadCopy([&](PartitionStore& store) { encoder.Read(store); });
    if (!read) return TimelineIsOver(item);
  }
  const uint64_t rows = encoder.rows();
  return Encoded{std::move(encoder).TakeFile(), rows};
}

}  // namespace capstan::ps
