// Measures what it costs to read the records of a job on this machine.
#ifndef CAPSTAN_CLI_MODEL_READ_COST_H_
#define CAPSTAN_CLI_MODEL_READ_COST_H_

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Returns the CPU seconds that reading and parsing one batch take, measured by reading the first
// task of `train` as a worker does. 0: the data cannot be read.
double ReadSecondsABatch(const v1::JobSpec& job, const Source& source, const TaskRanges& train);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_READ_COST_H_
