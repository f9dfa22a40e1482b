#include "tests/simulation/sim/feed.h"

namespace capstan::sim {

Feed::Feed(const Job& job, const v1::Lease& lease) : job_(job) {
  if (lease.kind() != v1::LEASE_KIND_LANE) {
    base_ = 0;
    Append(0, lease.data_epoch(), lease.task().index());
    complete_ = true;
    return;
  }
  if (lease.lane_tasks_size() > 0) {
    base_ = told_cursor_ = lease.lane_tasks(0).first_cursor();
    next_ordinal_ = lease.lane_tasks(0).ordinal();
  }
  Extend(lease);
}

void Feed::Extend(const v1::Lease& lease) {
  for (const v1::LaneTask& task : lease.lane_tasks()) {
    if (task.ordinal() >= next_ordinal_) {
      Append(task.ordinal(), task.data_epoch(), task.task().index());
    }
  }
  complete_ = complete_ || lease.lane_tasks_complete();
}

void Feed::Append(uint64_t ordinal, uint32_t epoch, uint32_t index) {
  tasks_.push_back({ordinal, epoch, index, job_.BatchesOf(index)});
  next_ordinal_ = ordinal + 1;
}

std::optional<Feed::Item> Feed::At(uint64_t number) {
  if (!base_) base_ = told_cursor_ = number;
  uint64_t begin = *base_;
  for (const Task& task : tasks_) {
    if (number < begin + task.batches) {
      return Item{false, 0, {task.epoch, task.index, number - begin}};
    }
    begin += task.batches;
  }
  if (!complete_) return std::nullopt;
  return Item{true, begin, {}};
}

bool Feed::HasDone(uint64_t cursor) const {
  return told_ < tasks_.size() && told_cursor_ + tasks_[told_].batches <= cursor;
}

std::vector<v1::LaneTaskDone> Feed::TakeDone(uint64_t cursor) {
  std::vector<v1::LaneTaskDone> done;
  while (HasDone(cursor)) {
    v1::LaneTaskDone& task = done.emplace_back();
    task.set_ordinal(tasks_[told_].ordinal);
    task.set_batches(tasks_[told_].batches);
    task.set_examples(tasks_[told_].batches * Job::kExamples);
    told_cursor_ += tasks_[told_].batches;
    ++told_;
  }
  return done;
}

uint64_t Feed::ExamplesOfTasks() const {
  uint64_t batches = 0;
  for (const Task& task : tasks_) batches += task.batches;
  return batches * Job::kExamples;
}

}  // namespace capstan::sim
