#include "worker/shell/batch_feed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::worker {

BatchFeed::BatchFeed(BatchPrefetcher& prefetcher, EventLoop& loop, const v1::Lease& lease)
    : prefetcher_(prefetcher), loop_(loop), evaluation_(lease.kind() == v1::LEASE_KIND_EVALUATION) {
  if (lease.kind() == v1::LEASE_KIND_LANE) {
    if (lease.lane_tasks_size() > 0) {
      base_ = lease.lane_tasks(0).first_cursor();
      base_known_ = true;
      next_ordinal_ = lease.lane_tasks(0).ordinal();
    }
    Extend(lease);
    return;
  }
  v1::LaneTask task;
  *task.mutable_task() = lease.task();
  task.set_data_epoch(lease.data_epoch());
  base_known_ = true;
  Append(task);
  complete_ = true;
}

BatchFeed::~BatchFeed() {
  *self_ = nullptr;
  if (feed_) prefetcher_.Close(*feed_);
}

void BatchFeed::Extend(const v1::Lease& lease) {
  for (const v1::LaneTask& task : lease.lane_tasks()) {
    if (task.ordinal() >= next_ordinal_) Append(task);
  }
  if (!lease.lane_tasks_complete() || complete_) return;
  complete_ = true;
  if (feed_) prefetcher_.Finish(*feed_);
}

void BatchFeed::Append(const v1::LaneTask& task) {
  tasks_.push_back({.ordinal = task.ordinal(),
                    .stream = StreamId::Task(task.data_epoch(), task.task().index())});
  next_ordinal_ = task.ordinal() + 1;
  TaskReader::Load load{
      .task = task.task(), .data_epoch = task.data_epoch(), .evaluation = evaluation_};
  if (feed_) {
    prefetcher_.Append(*feed_, std::move(load));
  } else {
    unopened_.push_back(std::move(load));
  }
}

void BatchFeed::OpenAt(uint64_t number) {
  if (!base_known_) base_ = number;  // All tasks of the lane are done.
  base_known_ = true;
  told_cursor_ = base_;
  feed_ = prefetcher_.Open(number - base_);
  for (TaskReader::Load& load : unopened_) prefetcher_.Append(*feed_, std::move(load));
  unopened_.clear();
  if (complete_) prefetcher_.Finish(*feed_);
}

void BatchFeed::Read(uint64_t number, OnRead on_read) {
  if (base_known_ && number < base_) {
    on_read(absl::InternalError(
        absl::StrCat("batch ", number, " lies before the lease, which begins at ", base_)));
    return;
  }
  if (!feed_) OpenAt(number);
  wanted_.push_back({number, std::move(on_read)});
  if (wanted_.size() == 1) Serve();
}

void BatchFeed::Serve() {
  while (!wanted_.empty()) {
    auto notify = [self = self_, &loop = loop_] {
      loop.Post([self] {
        if (*self != nullptr) (*self)->Serve();
      });
    };
    std::optional<absl::StatusOr<FedBatch>> read =
        prefetcher_.TryRead(*feed_, wanted_.front().number - base_, notify);
    if (!read) return;
    OnRead on_read = std::move(wanted_.front().on_read);
    wanted_.pop_front();
    const std::shared_ptr<BatchFeed*> self = self_;
    if (read->ok()) {
      on_read(Translate(**read));
    } else {
      on_read(read->status());
    }
    if (*self == nullptr) return;  // on_read() ended the lease.
  }
}

LeaseBatch BatchFeed::Translate(const FedBatch& fed) {
  reached_ = fed.task;
  Forget();
  if (fed.batch == nullptr) return {.batch = nullptr, .end = base_ + fed.number};
  return {
      .batch = fed.batch, .stream = tasks_[fed.task - forgotten_].stream, .seq = fed.batch_in_task};
}

// Forgets tasks that TakeDone() has returned and that lie before the task that was read last: as
// numbers ascend, nothing reads them again.
void BatchFeed::Forget() {
  const uint64_t place = std::min(told_, reached_);
  if (forgotten_ == place) return;
  tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<ptrdiff_t>(place - forgotten_));
  forgotten_ = place;
  prefetcher_.Forget(*feed_, place);
}

FedTask BatchFeed::OnlyTask() const { return feed_ ? prefetcher_.TaskAt(*feed_, 0) : FedTask(); }

std::optional<FedTask> BatchFeed::NextDone(uint64_t cursor) const {
  if (!feed_) return std::nullopt;
  FedTask task = prefetcher_.TaskAt(*feed_, told_);
  if (!task.loaded || told_cursor_ + task.batches > cursor) return std::nullopt;
  return task;
}

bool BatchFeed::HasDone(uint64_t cursor) const { return NextDone(cursor).has_value(); }

std::vector<v1::LaneTaskDone> BatchFeed::TakeDone(uint64_t cursor) {
  std::vector<v1::LaneTaskDone> done;
  while (const std::optional<FedTask> next = NextDone(cursor)) {
    v1::LaneTaskDone& task = done.emplace_back();
    task.set_ordinal(tasks_[told_ - forgotten_].ordinal);
    task.set_batches(next->batches);
    task.set_examples(next->examples);
    if (const BadRecords* bad = next->bad_records.get()) {
      task.set_bad_records(bad->count());
      task.mutable_bad_record_examples()->Assign(bad->examples().begin(), bad->examples().end());
    }
    told_cursor_ += next->batches;
    ++told_;
  }
  Forget();
  return done;
}

}  // namespace capstan::worker
