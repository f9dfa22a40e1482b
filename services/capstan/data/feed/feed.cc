#include "capstan/data/feed/feed.h"

#include <algorithm>
#include <utility>

namespace capstan {

void Feed::Append(TaskReader::Load task) { waiting_.push_back(std::move(task)); }

FedTask Feed::TaskAt(uint64_t place) const {
  if (place < forgotten_ || place - forgotten_ >= tasks_.size()) return {};
  return tasks_[place - forgotten_];
}

void Feed::Forget(uint64_t place) {
  while (forgotten_ < place && !tasks_.empty()) {
    tasks_.pop_front();
    ++forgotten_;
  }
}

uint64_t Feed::bytes_ahead() const {
  uint64_t bytes = 0;
  for (const FedBatch& ready : ready_) {
    if (ready.number > wanted_) bytes += ready.batch->bytes();
  }
  return bytes;
}

std::optional<absl::StatusOr<FedBatch>> Feed::Ask(uint64_t number) {
  wanted_ = std::max(wanted_, number);
  while (!ready_.empty() && ready_.front().number < wanted_) ready_.pop_front();
  if (!ready_.empty()) return ready_.front();
  if (!broken_.ok()) return broken_;
  const bool ended = finished_ && loaded_ == nullptr && !working_ && waiting_.empty();
  if (!ended) return std::nullopt;
  FedBatch end;
  end.number = base_;
  end.task = task_;
  return end;
}

std::optional<Feed::Work> Feed::NextWork() {
  if (working_ || !broken_.ok()) return std::nullopt;
  if (loaded_ != nullptr) {
    next_ = std::max(next_, std::min(wanted_, begin_of_next_task()));
    if (next_ == begin_of_next_task()) {
      base_ = next_;
      loaded_ = nullptr;
      ++task_;
    }
  }
  Work work;
  if (loaded_ != nullptr) {
    if (next_ > wanted_ + ahead_) return std::nullopt;
    work.task = loaded_;
    work.batch_in_task = next_ - base_;
  } else if (!waiting_.empty()) {
    work.load = std::move(waiting_.front());
    waiting_.pop_front();
  } else {
    return std::nullopt;
  }
  working_ = true;
  return work;
}

void Feed::Loaded(absl::StatusOr<std::shared_ptr<const LoadedTask>> task) {
  working_ = false;
  if (!task.ok()) {
    broken_ = task.status();
    return;
  }
  loaded_ = *std::move(task);
  FedTask& fed = tasks_.emplace_back();
  fed = {.loaded = true,
         .batches = loaded_->batch_count(),
         .examples = loaded_->examples(),
         .bytes = loaded_->bytes()};
  if (loaded_->bad_records().count() > 0) {
    fed.bad_records = std::make_shared<const BadRecords>(loaded_->bad_records());
  }
  next_ = base_;
}

void Feed::Cut(absl::StatusOr<std::shared_ptr<const Batch>> batch) {
  working_ = false;
  if (!batch.ok()) {
    broken_ = batch.status();
    return;
  }
  const uint64_t place = next_ - base_;
  if (next_ >= wanted_) {
    ready_.push_back({.batch = *std::move(batch),
                      .number = next_,
                      .task = task_,
                      .batch_in_task = place,
                      .last_of_task = place + 1 == loaded_->batch_count()});
  }
  ++next_;
}

}  // namespace capstan
