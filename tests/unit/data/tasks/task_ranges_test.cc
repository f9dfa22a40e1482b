#include "capstan/data/tasks/task_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::Pair;

v1::TaskRun MakeRun(uint64_t begin, uint64_t end, uint64_t ranges) {
  v1::TaskRun run;
  run.set_file("a");
  run.set_begin(begin);
  run.set_end(end);
  run.set_ranges(ranges);
  return run;
}

std::vector<std::pair<uint64_t, uint64_t>> Bounds(const TaskRanges& ranges) {
  std::vector<std::pair<uint64_t, uint64_t>> bounds;
  for (const v1::Task& task : ranges.Tasks()) bounds.emplace_back(task.begin(), task.end());
  return bounds;
}

std::vector<uint64_t> Records(const TaskRanges& ranges) {
  std::vector<uint64_t> records;
  for (const v1::Task& task : ranges.Tasks()) records.push_back(task.expected_records());
  return records;
}

TEST(TaskRangesTest, BytesAreCutIntoRangesAsLongAsEachOther) {
  v1::TaskRun run = MakeRun(0, 11, 4);
  run.set_record_bytes(2);
  const TaskRanges ranges({run});
  EXPECT_THAT(Bounds(ranges), ElementsAre(Pair(0, 3), Pair(3, 6), Pair(6, 9), Pair(9, 11)));
  EXPECT_THAT(Records(ranges), ElementsAre(2, 1, 2, 1)) << "those that begin before each end";
  EXPECT_EQ(ranges.expected_records(), 6u);
}

TEST(TaskRangesTest, CopiesShareTheListAndOutliveTheFirst) {
  auto first = std::make_unique<TaskRanges>(std::vector<v1::TaskRun>{MakeRun(0, 10, 2)});
  const TaskRanges copy = *first, other = std::move(*first);
  EXPECT_EQ(copy.runs().data(), other.runs().data());
  EXPECT_EQ(first->size(), 2u) << "which may be asked after others have taken it";
  first.reset();
  EXPECT_THAT(Bounds(copy), ElementsAre(Pair(0, 5), Pair(5, 10)));
}

TEST(TaskRangesTest, RecordsAreCutInStepsAndTheLastRangeMayBeOpen) {
  v1::TaskRun run = MakeRun(0, 15, 4);
  run.set_by_records(true);
  run.set_step(4);
  run.set_open(true);
  run.set_records(10);  // Of which the rest is an estimate.
  const TaskRanges ranges({run});
  EXPECT_THAT(Bounds(ranges),
              ElementsAre(Pair(0, 4), Pair(4, 8), Pair(8, 12), Pair(12, kToTheEnd)));
  EXPECT_THAT(Records(ranges), ElementsAre(4, 4, 2, 0));
  EXPECT_EQ(ranges.expected_records(), 10u);
}

TEST(TaskRangesTest, ARunBeginsWhereItIsTold) {
  v1::TaskRun run = MakeRun(100, 130, 2);
  run.set_by_records(true);
  run.set_step(20);
  run.set_records(130);
  const TaskRanges ranges({run});
  EXPECT_THAT(Bounds(ranges), ElementsAre(Pair(100, 120), Pair(120, 130)));
  EXPECT_THAT(Records(ranges), ElementsAre(20, 10));
}

TEST(TaskRangesTest, ARangeIsFoundByItsNumberOverAllRuns) {
  v1::TaskRun first = MakeRun(0, 30, 3);
  v1::TaskRun second = MakeRun(0, 7, 1);
  second.set_file("b");
  second.set_labels_file("c");
  second.set_records(5);
  const TaskRanges ranges({first, second, first});
  ASSERT_EQ(ranges.size(), 7u);
  EXPECT_EQ(ranges[2].begin, 20u);
  const v1::Task task = ranges.TaskAt(3);
  EXPECT_EQ(task.index(), 3u);
  EXPECT_EQ(task.file(), "b");
  EXPECT_EQ(task.labels_file(), "c");
  EXPECT_EQ(task.end(), 7u);
  EXPECT_EQ(task.expected_records(), 5u);
  std::vector<uint32_t> visited;
  ranges.Visit(2, [&](uint32_t index, const TaskRange& range) {
    EXPECT_EQ(range.begin, ranges[index].begin);
    visited.push_back(index);
    return index < 5;
  });
  EXPECT_THAT(visited, ElementsAre(2, 3, 4, 5));
}

TEST(TaskRangesTest, AListOfTasksIsTheSameRanges) {
  v1::Task task;
  task.set_file("a.gz");
  task.set_labels_file("b");
  task.set_by_records(true);
  task.set_begin(3);
  task.set_end(kToTheEnd);
  task.set_expected_records(9);
  const TaskRanges ranges(std::vector{task});
  EXPECT_EQ(ranges.TaskAt(0).SerializeAsString(), task.SerializeAsString());
}

}  // namespace
}  // namespace capstan
