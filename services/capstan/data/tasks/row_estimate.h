// Estimates how many rows the tables of a job will have, how many a batch needs, and how much
// memory the records of a task take.
#ifndef CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
#define CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_

#include <cstdint>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct RowCount {
  uint64_t records = 0;       // How many records were examined.
  uint64_t rows = 0;          // How many distinct keys they have.
  uint64_t rows_of_half = 0;  // How many distinct keys the first half has.
  // The number of full batches among these records, or 1 if there is only a smaller one.
  uint64_t batches = 0;
  uint64_t rows_by_batch = 0;  // The sum of the numbers of distinct keys of these batches.
};

struct RowEstimate {
  uint64_t rows = 0;          // At the end of the job.
  uint64_t keys_a_batch = 0;  // The mean number of distinct keys in a full batch.
  // Memory of a record in a task whose keys are packed (LoadedTask::PackKeys); 0 if there is none.
  uint64_t packed_record_bytes = 0;
};

// Returns the expected number of distinct keys in `records` records. The number of keys grows as a
// power of the number of records (Heaps' law); the exponent follows from count.rows and
// count.rows_of_half. A pure function.
uint64_t ExpectedRows(const RowCount& count, uint64_t records);

// Estimates by reading the first task of `train`. Returns zeros if the job has no table or the data
// cannot be read.
RowEstimate EstimateRows(const v1::JobSpec& job, const Source& source, const TaskRanges& train);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ROW_ESTIMATE_H_
