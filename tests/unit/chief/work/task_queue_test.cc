#include "chief/work/task_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "capstan/consistency/closed_streams.h"

namespace capstan::chief {
namespace {

// A job whose data are one file of so many ranges, of ten records each.
TaskQueue Queue(uint32_t tasks, SequenceOptions options, uint32_t pieces = 1) {
  v1::TaskRun run;
  run.set_file("/data/a.csv");
  run.set_by_records(true);
  run.set_end(uint64_t{10} * tasks);
  run.set_ranges(tasks);
  run.set_step(10);
  run.set_records(run.end());
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_shuffle(options.shuffle);
  data.set_pieces(pieces);
  data.set_task_records(10);
  return {{options, TaskMix(TaskRanges({run}), data, options.seed)}, /*batch_size=*/10};
}

v1::LeaseReport Done(const v1::Lease& lease) {
  v1::LeaseReport report;
  *report.mutable_generation() = lease.generation();
  report.set_finished(true);
  report.set_batches_done(1);
  report.set_total_batches(1);
  report.set_examples(10);
  report.set_total_examples(10);
  return report;
}

// A thousand trainers that end in any order: what a shard keeps of the tasks that are done does
// not grow with their number.
TEST(TaskQueueTest, WhatIsDoneIsAFewIntervalsOfStreamsHoweverTasksAreShuffled) {
  constexpr uint32_t kTrainers = 1000;
  TaskQueue queue = Queue(50'000, {.seed = 3, .shuffle = true, .epochs = 2});
  Generations generations(1);
  std::mt19937 random(7);
  std::vector<v1::Lease> held;
  for (uint64_t i = 1; i <= kTrainers; ++i) {
    held.push_back(*queue.Grant(TrainerId{i}, generations));
  }
  ClosedStreams closed;
  size_t most = 0;
  while (!held.empty()) {
    std::swap(held[random() % held.size()], held.back());
    const v1::Lease lease = held.back();
    held.pop_back();
    const TrainerId trainer{lease.trainer()};
    const ReportResult result = queue.Report({&trainer, 1}, Done(lease));
    ASSERT_EQ(result.closes.size(), 1u);
    closed.Insert(StreamId{result.closes.front().stream()});
    most = std::max(most, closed.intervals().size());
    if (auto next = queue.Grant(trainer, generations)) held.push_back(*std::move(next));
  }
  EXPECT_TRUE(queue.all_done());
  EXPECT_LE(most, kTrainers);
  EXPECT_EQ(closed.intervals().size(), 2u) << "an epoch each";
}

TEST(TaskQueueTest, GoesOnAmongTenMillionTasksByThoseThatAreOpen) {
  constexpr uint32_t kTasks = 10'000'000;
  TaskQueue queue = Queue(kTasks, {.seed = 3, .shuffle = true, .epochs = 3});
  v1::TaskProgress progress;
  progress.set_begun(uint64_t{2} * kTasks + 1000);
  progress.set_done_examples(uint64_t{20} * kTasks + 9980);
  for (const uint32_t task : {7u, 999u}) {
    v1::OpenTask& open = *progress.add_open_tasks();
    open.set_data_epoch(2);
    open.set_task(task);
  }
  queue.Restore(progress);
  EXPECT_EQ(queue.totals().done, uint64_t{2} * kTasks + 998);
  EXPECT_EQ(queue.totals().epochs_done, 2u);
  EXPECT_EQ(queue.todo(), kTasks - 998u);
  EXPECT_TRUE(queue.IsDone(StreamId::Task(2, 998)));
  EXPECT_FALSE(queue.IsDone(StreamId::Task(2, 999)));
  EXPECT_FALSE(queue.IsDone(StreamId::Task(2, 1000)));
  Generations generations(2);
  EXPECT_EQ(queue.Grant(TrainerId{1}, generations)->task().index(), 7u);
  EXPECT_EQ(queue.Grant(TrainerId{1}, generations)->task().index(), 999u);
  EXPECT_EQ(queue.Grant(TrainerId{1}, generations)->task().index(), 1000u);
  v1::TaskProgress saved;
  queue.Save(saved);
  EXPECT_EQ(saved.begun(), progress.begun() + 1);
  EXPECT_EQ(saved.open_tasks_size(), 3);
  ASSERT_EQ(saved.epochs_size(), 1);
  EXPECT_EQ(saved.epochs(0).tasks_done(), 998u);
}

TEST(TaskQueueTest, BatchesOfATaskCountOnceWhileItIsOpenReturnedRestoredAndDone) {
  TaskQueue queue = Queue(2, {.epochs = 1});
  Generations generations(1);
  const TrainerId trainer{1};
  const auto expect_one = [](const TaskQueue& of, const char* when) {
    EXPECT_EQ(of.totals().steps, 1u) << when;
    EXPECT_EQ(of.totals().examples, 10u) << when;
  };
  const v1::Lease first = *queue.Grant(trainer, generations);
  v1::LeaseReport report = Done(first);
  report.set_finished(false);
  for (int i = 0; i < 2; ++i) (void)queue.Report({&trainer, 1}, report);
  expect_one(queue, "open");
  queue.Release(trainer);
  expect_one(queue, "returned");
  v1::TaskProgress progress;
  queue.Save(progress);
  TaskQueue restored = Queue(2, {.epochs = 1});
  for (int i = 0; i < 2; ++i) restored.Restore(progress);
  expect_one(restored, "restored");
  const v1::Lease again = *restored.Grant(trainer, generations);
  ASSERT_EQ(again.task().index(), first.task().index());
  report = Done(again);
  report.set_examples(0);
  (void)restored.Report({&trainer, 1}, report);
  EXPECT_EQ(restored.totals().done, 1u);
  expect_one(restored, "done");
}

TEST(TaskQueueTest, HoldersChangeWithEveryLease) {
  TaskQueue queue = Queue(3, {.epochs = 1});
  Generations generations(1);
  const TrainerId trainer{1};
  uint64_t changes = queue.changes().count();
  const auto has_changed = [&] {
    const uint64_t before = std::exchange(changes, queue.changes().count());
    return before != changes;
  };
  const v1::Lease lease = *queue.Grant(trainer, generations);
  EXPECT_TRUE(has_changed());
  v1::LeaseReport report = Done(lease);
  report.set_finished(false);
  (void)queue.Report({&trainer, 1}, report);
  EXPECT_FALSE(has_changed()) << "it goes on";
  (void)queue.Report({&trainer, 1}, Done(lease));
  EXPECT_TRUE(has_changed());
  (void)*queue.Grant(trainer, generations);
  EXPECT_TRUE(has_changed());
  queue.Release(trainer);
  EXPECT_TRUE(has_changed());
  (void)*queue.Grant(trainer, generations);
  EXPECT_TRUE(has_changed());
  queue.ReleaseAll();
  EXPECT_TRUE(has_changed());
}

// Jobs that were begun before tasks were numbered in order keep their numbers.
TEST(TaskQueueTest, WhatWasNumberedInTheOrderOfTheDataIsRestoredByThoseNumbers) {
  const SequenceOptions options{
      .seed = 5, .shuffle = true, .epochs = 2, .numbered_in_order = false};
  TaskQueue first = Queue(100, options);
  Generations generations(1);
  const TrainerId trainer{1};
  std::vector<v1::Lease> leases;
  for (int i = 0; i < 30; ++i) leases.push_back(*first.Grant(trainer, generations));
  for (const v1::Lease& lease : leases) {
    if (lease.task().index() % 2 == 0) (void)first.Report({&trainer, 1}, Done(lease));
  }
  v1::TaskProgress progress;
  first.Save(progress);
  TaskQueue second = Queue(100, options);
  second.Restore(progress);
  EXPECT_EQ(second.totals().done, first.totals().done);
  for (const v1::Lease& lease : leases) {
    const StreamId stream = StreamId::Task(lease.data_epoch(), lease.task().index());
    EXPECT_EQ(second.IsDone(stream), lease.task().index() % 2 == 0);
  }
}

}  // namespace
}  // namespace capstan::chief
