// Determines which ranges of the data each task of an epoch reads.
#ifndef CAPSTAN_DATA_TASKS_TASK_MIX_H_
#define CAPSTAN_DATA_TASKS_TASK_MIX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Makes tasks from the ranges into which PlanTasks has cut the training data.
//
// Without shuffling, and with one piece per task, each range is a task. Otherwise every task is a
// sample of all the data, whatever their order: the ranges are cut again, into pieces of a
// `data.pieces`-th of a task each; the pieces, in the order of the data, are divided into
// `data.pieces` parts of equal length; and in every epoch each task is assigned one piece of each
// part. So a task is about as large as one range. Files that are smaller than a piece are a piece
// each.
//
// Two kinds of ranges are not cut and are a task each: ranges whose number of records is not known;
// and ranges of a file that is read from its beginning (compressed files and idx; Parquet counts as
// such, too), if reading all of its pieces would mean to read the file more than kMostPasses times
// per epoch.
//
// A task is a pure function of (ranges, settings, seed, epoch, index), so repeated calls return the
// same. Takes about a byte of memory per range. Immutable.
class TaskMix {
 public:
  static constexpr uint64_t kMostPasses = 16;

  TaskMix(TaskRanges ranges, const v1::DataSpec& data, uint64_t seed);

  const TaskRanges& ranges() const { return ranges_; }

  uint32_t size() const;  // How many tasks an epoch has.

  // Returns task `index` of an epoch. Its pieces are in the order of the data. A task that is a
  // single range has that range in its own fields, and no pieces. REQUIRES: index < size().
  v1::Task TaskAt(uint32_t epoch, uint32_t index) const;

  // Returns the expected_records of TaskAt(epoch, index) without building the task.
  uint64_t ExpectedRecords(uint32_t epoch, uint32_t index) const;

  // Returns the range of which task `index` consists in every epoch. nullopt: the task consists of
  // pieces, whose numbers of records are known. REQUIRES: index < size().
  std::optional<TaskRange> WholeRange(uint32_t index) const;

  // True if tasks consist of pieces, except for ranges that are not cut.
  bool mixes() const { return parts_ > 1; }

  // The total number of records of the tasks that consist of pieces.
  uint64_t mixed_records() const { return mixed_records_; }

  // Returns a hash of everything that the tasks depend on except the seed.
  uint64_t fingerprint() const;

 private:
  struct Sizes {
    uint64_t bytes = 0;
    uint64_t records = 0;
    uint64_t of(const TaskRange& range) const { return range.by_records() ? records : bytes; }
  };
  struct Piece {
    const v1::TaskRun* run = nullptr;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t records = 0;
  };

  static Sizes TaskSizes(const TaskRanges& ranges, const v1::DataSpec& data);
  uint64_t PiecesOf(const TaskRange& range) const;
  bool StaysWhole(const TaskRange& range) const;
  // Returns for each run whether its ranges would be read too often in pieces; see kMostPasses.
  std::vector<bool> ReadTooOften(const v1::DataSpec& data) const;
  Piece PieceAt(uint64_t number) const;
  std::vector<Piece> PiecesOfTask(uint32_t epoch, uint32_t index) const;

  TaskRanges ranges_;
  uint64_t seed_;
  uint64_t parts_;               // 1 if every range is a task.
  Sizes task_;                   // The most bytes, or records, of a range that is one task.
  std::vector<bool> too_often_;  // For each run: its ranges are not cut for that reason.
  uint32_t mixed_tasks_ = 0;     // Tasks made of pieces have the first numbers;
  std::vector<uint32_t> whole_;  // then come these ranges: all of them if parts_ is 1.
  std::vector<uint64_t>
      pieces_to_;  // How many pieces there are up to the end of each kBlock ranges.
  uint64_t mixed_records_ = 0;
};

// Returns the ranges of a task, in the order in which they are read: its pieces, or the task
// itself.
std::vector<v1::Task> RangesOf(const v1::Task& task);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_MIX_H_
