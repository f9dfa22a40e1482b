// The ranges of a split, stored as runs of equal ranges: a file of a terabyte takes no more memory
// than one of a kilobyte.
#ifndef CAPSTAN_DATA_TASKS_TASK_RANGES_H_
#define CAPSTAN_DATA_TASKS_TASK_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr uint64_t kToTheEnd = ~uint64_t{0};

// One range. Valid as long as the TaskRanges that returned it.
struct TaskRange {
  const v1::TaskRun* run = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;  // kToTheEnd: the range ends with the file.
  uint64_t expected_records = 0;

  const std::string& file() const { return run->file(); }
  bool by_records() const { return run->by_records(); }
  v1::Task ToTask(uint32_t index) const;
};

// Immutable. Copies share their content, which for 100,000 files takes a dozen megabytes.
class TaskRanges {
 public:
  TaskRanges() : TaskRanges(std::vector<v1::TaskRun>()) {}
  explicit TaskRanges(std::vector<v1::TaskRun> runs, uint64_t listing = 0);
  // Makes a run of each of `ranges`. Implicit, because a list of ranges has the same meaning.
  // REQUIRES: none of them consists of pieces.
  TaskRanges(const std::vector<v1::Task>& ranges);

  // A copy is as cheap as a move, which would leave nothing in the original.
  TaskRanges(const TaskRanges&) = default;
  TaskRanges& operator=(const TaskRanges&) = default;

  // Reads the ranges stored with a job, in the present or an earlier format.
  explicit TaskRanges(const v1::TrainTasks& stored, uint64_t listing = 0);

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const v1::TaskRun> runs() const { return held_->runs; }

  // A hash of the names and lengths of the files from which the ranges were made. 0: not known, or
  // the ranges were not made from a listing of files.
  uint64_t listing() const { return held_->listing; }

  // Returns range `index`, in time logarithmic in the number of runs. REQUIRES: index < size().
  TaskRange operator[](uint32_t index) const;
  v1::Task TaskAt(uint32_t index) const { return (*this)[index].ToTask(index); }
  std::vector<v1::Task> Tasks() const;

  // Calls `visit` with each range in order, beginning with range `from`, until `visit` returns
  // false.
  void Visit(uint32_t from, absl::FunctionRef<bool(uint32_t index, const TaskRange&)> visit) const;

  // Returns the sum of the expected records of all ranges.
  uint64_t expected_records() const;

 private:
  struct Held {
    std::vector<v1::TaskRun> runs;
    std::vector<uint32_t> until;  // How many ranges there are up to the end of each run.
    uint64_t listing = 0;
  };

  size_t RunOf(uint32_t index) const;

  std::shared_ptr<const Held> held_;
  uint32_t size_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_RANGES_H_
