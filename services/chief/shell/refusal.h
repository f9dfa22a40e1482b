// The status of a job that the chief cannot run (yet): its file is wrong, its data do not fit, or
// its store denies access.
#ifndef CAPSTAN_CHIEF_SHELL_REFUSAL_H_
#define CAPSTAN_CHIEF_SHELL_REFUSAL_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Returns true if the failure may pass without a change of the job: a store or data are
// unavailable, or deny access with the present keys.
bool MayPass(const absl::Status& why);

// Returns the status of the job named `job`: PENDING if the failure `why` may pass, otherwise
// FAILED by bad input.
v1::GetStatusReply RefusedStatus(const std::string& job, const absl::Status& why);

// Return the status while the job's file and its data are read: before the number of files is
// known, and when `done` of `files` have been examined.
v1::GetStatusReply LookingStatus(const std::string& job);
v1::GetStatusReply LookingStatus(const std::string& job, size_t done, size_t files);

// Returns the status while the chief waits for a worker to declare the job's model.
v1::GetStatusReply ModelWantedStatus(const std::string& job);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_REFUSAL_H_
