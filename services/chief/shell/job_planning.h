// From job.yaml to the plan that the machine works on: settings, data cut into tasks, the model's
// parameters.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
#define CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Errors are for the user, one line a mistake: bad settings, data that is not there or does not
// fit.
absl::StatusOr<JobPlan> PlanJob(const std::string& path, const std::vector<std::string>& overrides);

// The first half of that: the settings, with all that the data and the model add to them.
absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path,
                                    const std::vector<std::string>& overrides);

// The second half: `spec` is a whole one, of ReadJob or as a chief has stored it.
absl::StatusOr<JobPlan> PlanOf(v1::JobSpec spec);

// Fills in what `spec` leaves to be measured over the training data, and logs it.
absl::Status MeasureJob(v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
