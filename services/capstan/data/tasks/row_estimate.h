// How many rows the tables of a job will hold, and a batch asks for.
#ifndef CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
#define CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_

#include <cstdint>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct RowCount {
  uint64_t records = 0;        // That were looked at,
  uint64_t rows = 0;           // the different keys in all of them, and
  uint64_t rows_of_half = 0;   // in the first half.
  uint64_t batches = 0;        // The full batches that they make, or the one that is not,
  uint64_t rows_by_batch = 0;  // and the different keys of each of these, added up.
};

struct RowEstimate {
  uint64_t rows = 0;          // In the end.
  uint64_t keys_a_batch = 0;  // Different ones of a full batch, on average.
};

// What is to be expected of `records` records: the number of keys grows as a power of theirs
// (Heaps' law), which the two counts tell. A pure function.
uint64_t ExpectedRows(const RowCount& count, uint64_t records);

// Reads the first task of `train`. Zeros: the job has no table, or the data cannot be read.
RowEstimate EstimateRows(const v1::JobSpec& job, const Source& source, const TaskRanges& train);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
