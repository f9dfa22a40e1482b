// The learning rate over the progress of a job.
#ifndef CAPSTAN_OPTIM_SCHEDULE_H_
#define CAPSTAN_OPTIM_SCHEDULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// INVALID_ARGUMENT names the setting that is impossible.
absl::Status CheckSchedule(const v1::ScheduleSpec& schedule);

// Factor of the learning rate after `examples` of the job: linear from 0 to 1 during the warm-up,
// then from 1 downwards as `kind` says, never below `floor`. REQUIRES: CheckSchedule is OK.
double ScheduleFactor(const v1::ScheduleSpec& schedule, uint64_t examples);

// Whether the factor is 1 whatever the progress.
bool IsConstant(const v1::ScheduleSpec& schedule);

// spec.learning_rate times the factor of its schedule.
float LearningRate(const v1::OptimizerSpec& spec, uint64_t examples);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SCHEDULE_H_
