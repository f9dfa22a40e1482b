// Tell what differs between a job that has begun and what its file says. Pure functions.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns `now` with two settings as the job had them when it began, whatever the defaults are
// since: whether its tasks are made of pieces, and how they are numbered. Its progress counts in
// such tasks.
v1::JobSpec AsBegun(const v1::JobSpec& before, v1::JobSpec now);

// Returns a line for each difference that matters to the meaning of progress and parameters; empty:
// there is none.
std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns the first table or tensor in which the model of `other`, with whose parameters the job
// `now` is to begin, does not fit; empty: all fit.
std::string ModelDifference(const v1::JobSpec& other, const v1::JobSpec& now);

// Returns true if `now` is the job `before`, to be trained for more epochs.
bool WantsMoreEpochs(const v1::JobSpec& before, const v1::JobSpec& now);

// Returns, in lines for the people who have changed the file of a running job, what of the file the
// job does not do, and how to have it done; empty: nothing. `wanted` is what the file says, or its
// mistakes.
std::string JobChange(const v1::JobSpec& running, const absl::StatusOr<v1::JobSpec>& wanted);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
