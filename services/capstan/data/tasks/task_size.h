// How large a task may be.
#ifndef CAPSTAN_DATA_TASKS_TASK_SIZE_H_
#define CAPSTAN_DATA_TASKS_TASK_SIZE_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Bytes of a task of plain text, of which there are `total` in all: data.task_bytes, or what makes
// at least 8 tasks of at most 8 MiB.
uint64_t TaskBytes(const v1::DataSpec& data, uint64_t total);

// The same in records, for all that is cut by records: data.task_records, or what makes at least 8
// tasks that fit into 32 MiB once they are parsed.
uint64_t TaskRecords(const v1::DataSpec& data, uint64_t total);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_SIZE_H_
