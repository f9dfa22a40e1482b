#include "tests/simulation/sim/feed.h"

#include <utility>

namespace capstan::sim {

Feed::Feed(const Job& job, const v1::Lease& lease)
    : job_(job), evaluation_(lease.kind() == v1::LEASE_KIND_EVALUATION) {
  if (lease.kind() != v1::LEASE_KIND_LANE) {
    base_ = 0;
    Append(0, lease.data_epoch(), lease.task());
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
      Append(task.ordinal(), task.data_epoch(), task.task());
    }
  }
  complete_ = complete_ || lease.lane_tasks_complete();
}

void Feed::Append(uint64_t ordinal, uint32_t epoch, const v1::Task& task) {
  tasks_.push_back({ordinal, job_.Read(task, epoch, evaluation_)});
  next_ordinal_ = ordinal + 1;
}

std::optional<Feed::Item> Feed::At(uint64_t number) {
  if (!base_) base_ = told_cursor_ = number;
  uint64_t begin = *base_;
  for (const Task& task : tasks_) {
    const std::vector<NamedBatch>& batches = task.content.batches;
    if (number < begin + batches.size()) return Item{false, 0, batches[number - begin]};
    begin += batches.size();
  }
  if (!complete_) return std::nullopt;
  return Item{true, begin, {}};
}

bool Feed::HasDone(uint64_t cursor) const {
  return told_ < tasks_.size() && told_cursor_ + tasks_[told_].content.batches.size() <= cursor;
}

std::vector<v1::LaneTaskDone> Feed::TakeDone(uint64_t cursor) {
  std::vector<v1::LaneTaskDone> done;
  while (HasDone(cursor)) {
    const TaskContent& content = tasks_[told_].content;
    v1::LaneTaskDone& task = done.emplace_back();
    task.set_ordinal(tasks_[told_].ordinal);
    task.set_batches(content.batches.size());
    task.set_examples(content.examples);
    task.set_bad_records(content.bad_records.count());
    told_cursor_ += content.batches.size();
    ++told_;
  }
  return done;
}

FedTask Feed::OnlyTask() const {
  const TaskContent& content = tasks_.front().content;
  return {.loaded = true,
          .batches = content.batches.size(),
          .examples = content.examples,
          .bad_records = std::make_shared<const BadRecords>(content.bad_records)};
}

}  // namespace capstan::sim
