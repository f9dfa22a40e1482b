// Describe the differences between a job that has begun and its file. Pure functions.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns `now` with two settings as they were when the job began, even if the defaults have
// changed since: whether its tasks are made of pieces, and how they are numbered. The stored
// progress refers to such tasks.
v1::JobSpec AsBegun(const v1::JobSpec& before, v1::JobSpec now);

// Returns a line for each difference that would change the meaning of the stored progress or
// parameters; empty if there is none.
std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns the first table or tensor in which the model of `other`, with whose parameters the job
// `now` is to begin, does not match; empty if all match.
std::string ModelDifference(const v1::JobSpec& other, const v1::JobSpec& now);

// Returns true if `now` is the job `before` with more epochs.
bool WantsMoreEpochs(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns lines for the people who have changed the file of a running job: what of the file the
// running job does not apply, and how to make it apply; empty if there is nothing. `wanted` is the
// content of the file, or its error.
std::string JobChange(const v1::JobSpec& running, const absl::StatusOr<v1::JobSpec>& wanted);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
