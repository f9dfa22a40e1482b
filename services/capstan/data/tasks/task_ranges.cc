#include "capstan/data/tasks/task_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "capstan/base/check.h"

namespace capstan {
namespace {

// Returns where range `number` of the run begins; for the number after the last range, where the
// run ends.
uint64_t BeginOf(const v1::TaskRun& run, uint64_t number) {
  if (number == run.ranges()) return run.end();
  if (run.step() > 0) return run.begin() + number * run.step();
  const uint64_t length = run.end() - run.begin();
  return run.begin() + number * (length / run.ranges()) + std::min(number, length % run.ranges());
}

// Returns the expected number of records of the run that begin before `place`.
uint64_t RecordsBefore(const v1::TaskRun& run, uint64_t place) {
  if (run.by_records()) return std::min(place, run.records());
  if (run.record_bytes() <= 0) return 0;
  return static_cast<uint64_t>(std::llround(static_cast<double>(place) / run.record_bytes()));
}

uint64_t RecordsOf(const v1::TaskRun& run, uint64_t first, uint64_t end) {
  if (run.ranges() == 1) return run.records();
  return RecordsBefore(run, BeginOf(run, end)) - RecordsBefore(run, BeginOf(run, first));
}

TaskRange RangeOf(const v1::TaskRun& run, uint64_t number) {
  const bool open = run.open() && number + 1 == run.ranges();
  return {.run = &run,
          .begin = BeginOf(run, number),
          .end = open ? kToTheEnd : BeginOf(run, number + 1),
          .expected_records = RecordsOf(run, number, number + 1)};
}

}  // namespace

v1::Task TaskRange::ToTask(uint32_t index) const {
  v1::Task task;
  task.set_index(index);
  task.set_file(run->file());
  task.set_labels_file(run->labels_file());
  task.set_file_records(run->file_records());
  task.set_by_records(run->by_records());
  task.set_begin(begin);
  task.set_end(end);
  task.set_expected_records(expected_records);
  return task;
}

TaskRanges::TaskRanges(std::vector<v1::TaskRun> runs, uint64_t listing) {
  std::vector<uint32_t> until;
  until.reserve(runs.size());
  for (const v1::TaskRun& run : runs) {
    CAPSTAN_CHECK(run.ranges() <= std::numeric_limits<uint32_t>::max() - size_);
    until.push_back(size_ += static_cast<uint32_t>(run.ranges()));
  }
  held_ = std::make_shared<const Held>(Held{std::move(runs), std::move(until), listing});
}

TaskRanges::TaskRanges(const std::vector<v1::Task>& ranges)
    : TaskRanges([&ranges] {
        std::vector<v1::TaskRun> runs;
        for (const v1::Task& range : ranges) {
          v1::TaskRun& run = runs.emplace_back();
          run.set_file(range.file());
          run.set_labels_file(range.labels_file());
          run.set_file_records(range.file_records());
          run.set_by_records(range.by_records());
          run.set_begin(range.begin());
          run.set_end(range.end());
          run.set_open(range.end() == kToTheEnd);
          run.set_ranges(1);
          run.set_records(range.expected_records());
        }
        return runs;
      }()) {}

size_t TaskRanges::RunOf(uint32_t index) const {
  const std::vector<uint32_t>& until = held_->until;
  const auto run = std::upper_bound(until.begin(), until.end(), index);
  CAPSTAN_CHECK(run != until.end());
  return static_cast<size_t>(run - until.begin());
}

TaskRanges::TaskRanges(const v1::TrainTasks& stored, uint64_t listing)
    : TaskRanges(
          stored.format() == 1
              ? TaskRanges(std::vector<v1::Task>(stored.tasks().begin(), stored.tasks().end()))
              : TaskRanges(std::vector<v1::TaskRun>(stored.runs().begin(), stored.runs().end()),
                           listing)) {}

TaskRange TaskRanges::operator[](uint32_t index) const {
  const size_t run = RunOf(index);
  return RangeOf(runs()[run], index - (held_->until[run] - runs()[run].ranges()));
}

std::vector<v1::Task> TaskRanges::Tasks() const {
  std::vector<v1::Task> tasks;
  Visit(0, [&](uint32_t index, const TaskRange& range) {
    tasks.push_back(range.ToTask(index));
    return true;
  });
  return tasks;
}

void TaskRanges::Visit(uint32_t from,
                       absl::FunctionRef<bool(uint32_t, const TaskRange&)> visit) const {
  if (from >= size_) return;
  for (size_t run = RunOf(from); run < runs().size(); ++run) {
    const uint64_t first = held_->until[run] - runs()[run].ranges();
    for (; from < held_->until[run]; ++from) {
      if (!visit(from, RangeOf(runs()[run], from - first))) return;
    }
  }
}

uint64_t TaskRanges::expected_records() const {
  uint64_t records = 0;
  for (const v1::TaskRun& run : runs()) records += RecordsOf(run, 0, run.ranges());
  return records;
}

}  // namespace capstan
