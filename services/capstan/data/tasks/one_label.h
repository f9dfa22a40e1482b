// Tells whether all records have the same label, which happens when data.schema.positive is
// misspelt.
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

// Returns a sentence that warns a person of labels that are the same in all records; empty: no
// label is. `orders` is the result of SampleLabelOrders; where there are several labels, the ones
// concerned are named. If data.schema.positive names no text that occurs, texts that do occur in
// the first training file are named. Errors as of TaskReader::Read.
absl::StatusOr<std::string> OneLabelWarning(const Source& source, const v1::DataSpec& data,
                                            std::span<const LabelOrder> orders, const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ONE_LABEL_H_
