// The status of the job, for people.
#ifndef CAPSTAN_CHIEF_DUTIES_STATUS_REPORT_H_
#define CAPSTAN_CHIEF_DUTIES_STATUS_REPORT_H_

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/job/job_context.h"

namespace capstan::chief {

// Returns the status, except for what single duties count.
v1::GetStatusReply StatusOf(const JobContext& job, absl::Time now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_STATUS_REPORT_H_
