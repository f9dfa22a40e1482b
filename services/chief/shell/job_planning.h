// Makes the machine's plan from job.yaml: settings, data split into tasks, the model's parameters.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
#define CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Called now and then, by any thread: `done` of `files` files have been examined.
using PlanProgress = std::function<void(size_t done, size_t files)>;

// Makes the plan of the job file at `path`. Errors are for the user, one line each: wrong settings,
// data that are missing or do not fit. If the store holds this job with the same configuration and
// unchanged files, the tasks are read from the store: the files are listed, but none is opened.
absl::StatusOr<JobPlan> PlanJob(const std::string& path, const std::vector<std::string>& overrides,
                                const PlanProgress& progress = nullptr);

// The first half of PlanJob: returns the settings, with all that is derived from the data and the
// model.
absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path,
                                    const std::vector<std::string>& overrides);

// The second half of PlanJob: `spec` is complete, from ReadJob or from the stored state.
absl::StatusOr<JobPlan> PlanOf(v1::JobSpec spec);

// Fills in those settings that have to be measured on the training data, and logs them.
absl::Status MeasureJob(v1::JobSpec& spec);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_PLANNING_H_
