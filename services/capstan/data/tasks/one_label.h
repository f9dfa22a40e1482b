// Tells whether all records have the same label, as when what makes one of them positive is
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

// What a person should hear of labels that are the same in all records, in a sentence; empty:
// nothing. `orders`: what SampleLabelOrders has found of each label; of several, those meant are
// named. Where data.schema.positive names none that occurs, the texts that do are named, as the
// first training file has them. Errors as TaskReader's.
absl::StatusOr<std::string> OneLabelWarning(const Source& source, const v1::DataSpec& data,
                                            std::span<const LabelOrder> orders, const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_ONE_LABEL_H_
