// What a chief says of a job that it cannot lead: its file is wrong, its data do not fit, its store
// does not let it in.
#ifndef CAPSTAN_CHIEF_SHELL_REFUSAL_H_
#define CAPSTAN_CHIEF_SHELL_REFUSAL_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// It may be over without anybody changing the job: a store or data that are away, or that do not
// let us in with the keys of now.
bool MayPass(const absl::Status& why);

// What GetStatus answers of the job named `job`: FAILED by bad input, or PENDING where it may pass.
v1::GetStatusReply RefusedStatus(const std::string& job, const absl::Status& why);

// The same while the job's file and its data are looked at; once it is known how many files there
// are, with how far that is.
v1::GetStatusReply LookingStatus(const std::string& job);
v1::GetStatusReply LookingStatus(const std::string& job, size_t done, size_t files);

// The same while no worker has declared the job's model.
v1::GetStatusReply ModelWantedStatus(const std::string& job);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_REFUSAL_H_
