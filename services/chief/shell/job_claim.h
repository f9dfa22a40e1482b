// The start of a chief: reads what the store holds of the job, checks that this is the same job,
// and claims the next term by a conditional write of the state over the one that it has read.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_CLAIM_H_
#define CAPSTAN_CHIEF_SHELL_JOB_CLAIM_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "chief/shell/job_store.h"
#include "chief/shell/train_data.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

struct ClaimOptions {
  uint64_t run_id = 0;
  bool fresh = false;  // Start over; what is stored is kept but not used.
  // Start over in the same way, unless the stored job was already started over under this name: for
  // a chief that is restarted with an unchanged command line. Empty: do not start over.
  std::string fresh_once;
  std::string from;  // A checkpoint of another job, with whose parameters this one begins.
  std::string
      initial;  // The checkpoint of step 0 of this job, if it has one; used if `from` is empty.
  // The address of this chief, and its machine: stored with the claim.
  std::string address;
  std::string host;
  // Returns true if the chief that has written the state `present` is still at work on the job:
  // then the claim is refused. It may read the store again. If not set, the job is always taken
  // over.
  std::function<bool(JobStore& store, const v1::ChiefState& present)> still_there;
  // Makes the plan of the stored configuration. If that differs from the requested one, the job
  // continues with the stored one; and with the data that it began with, if files have been added
  // or have grown. If not set, a different configuration and different data are refused.
  std::function<absl::StatusOr<JobPlan>(const v1::JobSpec& stored)> keep;
  // Fills in those settings that have to be measured on the training data. A job that has begun
  // keeps what was measured then.
  std::function<absl::Status(v1::JobSpec& spec)> measure = [](v1::JobSpec&) {
    return absl::OkStatus();
  };
  std::function<void(absl::Duration)> sleep = absl::SleepFor;  // Waits between two attempts.
};

struct Claim {
  uint64_t term = 0;
  bool anew = true;  // Nothing has been trained yet.
  JobHistory history;
  JobPlan plan;  // The plan of the job: the requested one, or that of the stored configuration.
  TrainDataChange data_change;  // How the training data have changed since the job began.
};

// Returns true if the job with the stored state `present` is to start over.
bool StartsOver(const v1::ChiefState& present, const ClaimOptions& options);

// Claims the job. If `plan` only differs by more epochs, this change is accepted: a job that had
// ended continues from its result. `now` is a time of the machine's clock. FAILED_PRECONDITION: the
// store holds a job of this name with another configuration or other data, and `keep` is not set or
// does not accept them (the message has the difference); another chief still has the job; or `from`
// does not fit. ABORTED: other chiefs keep claiming the job.
absl::StatusOr<Claim> ClaimJob(JobStore& store, const JobPlan& plan, const ClaimOptions& options,
                               absl::Time now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_CLAIM_H_
