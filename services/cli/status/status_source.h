// Something that can be asked for the status of a job.
#ifndef CAPSTAN_CLI_STATUS_STATUS_SOURCE_H_
#define CAPSTAN_CLI_STATUS_STATUS_SOURCE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

class StatusSource {
 public:
  virtual ~StatusSource() = default;

  // Returns the job's status. UNAVAILABLE: nobody answers at present, but may do so later.
  // DEADLINE_EXCEEDED: no answer within `timeout`.
  virtual absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration timeout) = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_STATUS_SOURCE_H_
