// What the job waits for, in words.
#ifndef CAPSTAN_CHIEF_DUTIES_WAITING_H_
#define CAPSTAN_CHIEF_DUTIES_WAITING_H_

#include <string>

#include "absl/time/time.h"
#include "chief/job/job_context.h"

namespace capstan::chief {

// Returns what the job waits for, such as "shard 2; the object store, for s3://..."; empty if it
// does not wait.
std::string WaitingFor(const JobContext& job, absl::Time now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WAITING_H_
