// Makes the plan that the machine works on from job.yaml: settings, data cut into tasks, the
// model's parameters.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
#define CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Is called now and then, by any thread: `done` of `files` files have been looked at.
using PlanProgress = std::function<void(size_t done, size_t files)>;

// Makes the plan of the job file at `path`. Errors are for the user, one line a mistake: bad
// settings, data that is not there or does not fit. If the store says that the job has begun with
// this configuration, and its files are as they were, the tasks are those that the store holds: the
// files are listed, and none is opened.
absl::StatusOr<JobPlan> PlanJob(const std::string& path, const std::vector<std::string>& overrides,
                                const PlanProgress& progress = nullptr);

// The first half of PlanJob: returns the settings, with all that the data and the model add to
// them.
absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path,
                                    const std::vector<std::string>& overrides);

// The second half of PlanJob: `spec` is complete, from ReadJob or as a chief has stored it.
absl::StatusOr<JobPlan> PlanOf(v1::JobSpec spec);

// Fills in what `spec` leaves to be measured over the training data, and logs it.
absl::Status MeasureJob(v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
