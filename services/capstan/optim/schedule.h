// The learning rate as a function of the progress of a job.
#ifndef CAPSTAN_OPTIM_SCHEDULE_H_
#define CAPSTAN_OPTIM_SCHEDULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// INVALID_ARGUMENT: a setting is impossible; the message names it.
absl::Status CheckSchedule(const v1::ScheduleSpec& schedule);

// Returns the factor of the learning rate after `examples` examples of the job: it rises linearly
// from 0 to 1 during the warm-up, and then decreases from 1 according to `kind`, never below
// `floor`. REQUIRES: CheckSchedule is OK.
double ScheduleFactor(const v1::ScheduleSpec& schedule, uint64_t examples);

// Returns true if the factor is always 1.
bool IsConstant(const v1::ScheduleSpec& schedule);

// Returns spec.learning_rate times the factor of its schedule.
float LearningRate(const v1::OptimizerSpec& spec, uint64_t examples);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SCHEDULE_H_
