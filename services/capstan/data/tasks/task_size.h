// Chooses the size of a task.
#ifndef CAPSTAN_DATA_TASKS_TASK_SIZE_H_
#define CAPSTAN_DATA_TASKS_TASK_SIZE_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the size in bytes of a task of plain text, for a split of `total` bytes: data.task_bytes
// or, if that is 0, a size with which there are at least 8 tasks of at most 8 MiB.
uint64_t TaskBytes(const v1::DataSpec& data, uint64_t total);

// Returns the number of records of a task of data that are cut by records, for a split of `total`
// records: data.task_records or, if that is 0, a number with which there are at least 8 tasks, each
// of which fits into 32 MiB after parsing, or is a single record that does not. 0 only if `total`
// is 0.
uint64_t TaskRecords(const v1::DataSpec& data, uint64_t total);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_SIZE_H_
