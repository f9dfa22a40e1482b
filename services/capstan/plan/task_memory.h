// Computes the memory of parsed records and tasks in a worker.
#ifndef CAPSTAN_PLAN_TASK_MEMORY_H_
#define CAPSTAN_PLAN_TASK_MEMORY_H_

#include "capstan/plan/scale.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns `facts` with `record_bytes`, `task_bytes` and `packed_task_bytes` computed from its other
// fields and from the job's data settings. A pure function.
DataFacts WithTaskMemory(const v1::JobSpec& job, DataFacts facts);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_TASK_MEMORY_H_
