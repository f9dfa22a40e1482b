// Chooses the size of a task.
#ifndef CAPSTAN_DATA_TASKS_TASK_SIZE_H_
#define CAPSTAN_DATA_TASKS_TASK_SIZE_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the bytes of a task of plain text, where the split has `total` bytes: data.task_bytes, or
// if that is 0 a size that makes at least 8 tasks of at most 8 MiB.
uint64_t TaskBytes(const v1::DataSpec& data, uint64_t total);

// Returns the records of a task of data that is cut by records, where the split has `total`
// records: data.task_records, or if that is 0 a number that makes at least 8 tasks, each of which
// fits into 32 MiB once it is parsed, or is one record that does not. 0 only if `total` is 0.
uint64_t TaskRecords(const v1::DataSpec& data, uint64_t total);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_SIZE_H_
