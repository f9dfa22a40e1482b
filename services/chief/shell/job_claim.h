// The beginning of a chief. It finds out what the store has of the job, and whether this is the
// same job, and claims the next term: it writes the state in the place of the one that it has read.
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
  bool fresh = false;  // Start over; what is stored is kept, and not used.
  // Start over in the same way, unless the stored job was started over under this name: for a chief
  // whose command line stays the same when it is started again. Empty: do not.
  std::string fresh_once;
  std::string from;  // A checkpoint of another job, with whose parameters this one begins.
  std::string
      initial;  // The checkpoint of step 0 of this job, if it has one; used if `from` is empty.
  // The address of this chief, and its machine: written with the claim.
  std::string address;
  std::string host;
  // Returns true if the chief that has written the state `present` still has the job: then the
  // claim is refused. May read the store again. Empty: the job is taken over in any case.
  std::function<bool(JobStore& store, const v1::ChiefState& present)> still_there;
  // Makes the plan of the configuration that the store holds. If that differs from the one asked
  // for, the job goes on with it; and it goes on with the data that it has begun with, if files
  // have been added or have grown. Empty: another configuration is refused, and so are other data.
  std::function<absl::StatusOr<JobPlan>(const v1::JobSpec& stored)> keep;
  // Fills in what the configuration leaves to be measured over the training data. A job that has
  // begun goes on with what was measured then.
  std::function<absl::Status(v1::JobSpec& spec)> measure = [](v1::JobSpec&) {
    return absl::OkStatus();
  };
  std::function<void(absl::Duration)> sleep = absl::SleepFor;  // How to wait between two attempts.
};

struct Claim {
  uint64_t term = 0;
  bool anew = true;  // Nothing has been trained yet.
  JobHistory history;
  JobPlan plan;  // The plan of the job: the one asked for, or of the stored configuration.
  TrainDataChange data_change;  // How the training data have changed since the job began.
};

// Returns true if the job with the stored state `present` is to start over.
bool StartsOver(const v1::ChiefState& present, const ClaimOptions& options);

// Claims the job. If `plan` has more epochs, and no other difference that matters, it is taken up:
// a job that had ended goes on from its result. `now` is a time of the machine's clock.
// FAILED_PRECONDITION: the store holds a job of this name with another configuration or other data,
// and `keep` does not help (the message tells the difference); another chief still has the job; or
// `from` does not fit. ABORTED: other chiefs claim the job again and again.
absl::StatusOr<Claim> ClaimJob(JobStore& store, const JobPlan& plan, const ClaimOptions& options,
                               absl::Time now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_CLAIM_H_
