// Warnings for people about training data that can be read but are unusual: before a job begins
// (`capstan config check`) and while it runs (the chief's status).
#ifndef CAPSTAN_DATA_TASKS_DATA_WARNINGS_H_
#define CAPSTAN_DATA_TASKS_DATA_WARNINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct DataWarning {
  std::string about;
  std::string sentence;  // Empty if there is nothing to warn of.
};

// Returns a warning for each aspect that is checked: the order of the labels, labels that are the
// same in all records, and quoted cells in a format without quotes. Reads a small part of the data.
// Errors as for TaskReader::Read.
absl::StatusOr<std::vector<DataWarning>> DataWarnings(const Source& source, const v1::JobSpec& job,
                                                      const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_DATA_WARNINGS_H_
