// What is different between a job that has begun and what its file says. Pure functions.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// `now` with what the job had when it was begun, whatever the defaults have become since: whether
// its tasks are made of pieces, and how they are numbered. Its progress counts in these.
v1::JobSpec AsBegun(const v1::JobSpec& before, v1::JobSpec now);

// What matters to the meaning of progress and parameters and is different, a line each; empty:
// nothing.
std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now);

// The first table or tensor in which a model whose parameters are to be begun with does not fit;
// empty: all fit.
std::string ModelDifference(const v1::JobSpec& other, const v1::JobSpec& now);

// Returns whether `now` is the job `before`, to be trained for more epochs.
bool WantsMoreEpochs(const v1::JobSpec& before, const v1::JobSpec& now);

// For the people who have changed the file of a job that goes on as it was: what it does not do,
// and how to have it, in lines. `wanted` is what the file says, or why it says nothing. Empty: it
// says what is done.
std::string JobChange(const v1::JobSpec& running, const absl::StatusOr<v1::JobSpec>& wanted);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_DIFFERENCE_H_
