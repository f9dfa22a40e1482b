// Upper bounds of the numbers in a report of a task, by which false reports are recognized.
#ifndef CAPSTAN_CHIEF_WORK_TASK_LIMITS_H_
#define CAPSTAN_CHIEF_WORK_TASK_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns an upper bound of the records of a task: each record begins at a byte of its own, or is
// one of those that the task names by number. 2^40 if the task's end is not known.
uint64_t MostRecords(const v1::Task& task);

// Returns an upper bound of the batches of a task: all but the last, which may be empty, are full.
uint64_t MostBatches(const v1::Task& task, uint64_t batch_size);

// Return INVALID_ARGUMENT if `report` or `done` has more batches, examples or bad records than the
// task can have.
absl::Status CheckNumbers(const v1::Task& task, uint64_t batch_size, const v1::LeaseReport& report);
absl::Status CheckNumbers(const v1::Task& task, uint64_t batch_size, const v1::LaneTaskDone& done);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_TASK_LIMITS_H_
