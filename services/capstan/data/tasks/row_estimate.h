// Estimates how many rows the tables of a job will hold, how many a batch asks for, and how much
// memory the records of a task take.
#ifndef CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
#define CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_

#include <cstdint>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct RowCount {
  uint64_t records = 0;       // Records that were looked at,
  uint64_t rows = 0;          // the different keys in all of them, and
  uint64_t rows_of_half = 0;  // in the first half.
  // The full batches among these records, or 1 if there is only a smaller one,
  uint64_t batches = 0;
  uint64_t rows_by_batch = 0;  // and the different keys of each of these, added up.
};

struct RowEstimate {
  uint64_t rows = 0;          // When the job ends.
  uint64_t keys_a_batch = 0;  // Different keys in a full batch, on average.
  // Memory of a record of a task whose keys are packed (LoadedTask::PackKeys); 0: there is none.
  uint64_t packed_record_bytes = 0;
};

// Returns how many different keys to expect in `records` records. The number of keys grows as a
// power of the number of records (Heaps' law); the exponent follows from count.rows and
// count.rows_of_half. A pure function.
uint64_t ExpectedRows(const RowCount& count, uint64_t records);

// Estimates from the first task of `train`, which is read. Returns zeros if the job has no table or
// the data cannot be read.
RowEstimate EstimateRows(const v1::JobSpec& job, const Source& source, const TaskRanges& train);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
