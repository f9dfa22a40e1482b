// The beginning of a chief: it finds out what there is of the job, whether this is the same job,
// and claims the next term, by writing the state in the place of the one it has read.
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
  bool fresh = false;  // Start over; what there is stays beside it, and is not used.
  // Start over in the same way, unless the job that is there was started over under this name: for
  // a chief whose command line stays the same when it is started again. Empty: no.
  std::string fresh_once;
  std::string from;  // A checkpoint of another job: its parameters are begun with.
  std::string
      initial;  // Where `from` is empty: the checkpoint of step 0 of this job, if it has one.
  // Where this chief answers, and on which machine: written with the claim.
  std::string address;
  std::string host;
  // Returns whether the chief that has written this state still has the job; then the claim is
  // refused. Empty: the job is taken over in any case. May read the store again.
  std::function<bool(JobStore& store, const v1::ChiefState& present)> still_there;
  // Makes the plan of the configuration that the store holds: where that is another one, the job
  // goes on with it, as it does with the data that it has begun with, where files have come or
  // grown. Empty: another configuration is refused, and so are other data.
  std::function<absl::StatusOr<JobPlan>(const v1::JobSpec& stored)> keep;
  // Finds out what the configuration leaves to be measured over the training data; asked where the
  // job begins anew. One that has begun goes on with what was measured then.
  std::function<absl::Status(v1::JobSpec& spec)> measure = [](v1::JobSpec&) {
    return absl::OkStatus();
  };
  std::function<void(absl::Duration)> sleep = absl::SleepFor;  // Between two attempts.
};

struct Claim {
  uint64_t term = 0;
  bool anew = true;  // Nothing has been trained yet.
  JobHistory history;
  JobPlan plan;  // That the job goes by: the one asked for, or that of what the store holds.
  TrainDataChange data_change;  // Since the job has begun, in the files that its settings name.
};

// Returns whether a job that is stored so is begun anew.
bool StartsOver(const v1::ChiefState& present, const ClaimOptions& options);

// More epochs, and nothing else that matters, are taken up: a job that has ended goes on from its
// last checkpoint. `now`: of the machine's clock. FAILED_PRECONDITION, with the difference: the
// store holds a job of this name with another configuration or other data (unless they are kept);
// another chief still has it; `from` does not fit. ABORTED: other chiefs claim it, again and again.
absl::StatusOr<Claim> ClaimJob(JobStore& store, const JobPlan& plan, const ClaimOptions& options,
                               absl::Time now);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_CLAIM_H_
