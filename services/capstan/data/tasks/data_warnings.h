// What is odd about training data that can be read, for people: before a job begins (`capstan
// config check`) and while it runs (the chief's status).
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
  std::string sentence;  // Empty: nothing is odd.
};

// Returns a warning about each thing that is looked at: the order of the labels, labels that are
// the same in all records, and cells in quotes where these are text. Reads a small part of the
// data. Errors as of TaskReader::Read.
absl::StatusOr<std::vector<DataWarning>> DataWarnings(const Source& source, const v1::JobSpec& job,
                                                      const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_DATA_WARNINGS_H_
