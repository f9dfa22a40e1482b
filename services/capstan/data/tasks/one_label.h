// Detects that all records have the same label, which happens if data.schema.positive is misspelt.
#ifndef CAPSTAN_DATA_TASKS_ONE_LABEL_H_
#define CAPSTAN_DATA_TASKS_ONE_LABEL_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/label_order.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns a warning of labels that are the same in all records, a sentence for people; empty if
// there is no such label. `orders` is the result of SampleLabelOrders; if there are several labels,
// the affected ones are named. If data.schema.positive names no text that occurs, texts that do
// occur in the first training file are named. Errors as for TaskReader::Read.
absl::StatusOr<std::string> OneLabelWarning(const Source& source, const v1::DataSpec& data,
                                            std::span<const LabelOrder> orders, const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ONE_LABEL_H_
