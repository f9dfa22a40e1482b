// Tells whether the training data lie in the order of their labels.
#ifndef CAPSTAN_DATA_TASKS_LABEL_ORDER_H_
#define CAPSTAN_DATA_TASKS_LABEL_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// What was found out about records that follow each other.
struct LabelOrder {
  uint64_t pairs = 0;   // Neighbours that were looked at.
  bool classes = true;  // Labels are classes; otherwise numbers.
  double same = 0;      // Classes: the share of the pairs that have the same label, and
  double chance = 0;    // what it were in a random order.
  // 1: as in sorted data, 0: as in a random order. For numbers, their correlation.
  double likeness = 0;
  uint64_t records = 0;            // That were looked at.
  std::optional<float> only = {};  // The label of them all; nothing: they differ, or are none.
};

// `places` holds the labels of records that follow each other, place by place. All labels the same
// is no order.
LabelOrder MeasureLabelOrder(std::span<const std::vector<float>> places, bool classes);

// The order of each label of the data, as LabelsOf has them. Reads about 10,000 records in some 64
// places of the data, or half a megabyte of text; of files that can be read only from their front
// and are not mixed, the front alone. What cannot be parsed is passed over, as are labels that a
// record lacks. Errors as TaskReader's.
absl::StatusOr<std::vector<LabelOrder>> SampleLabelOrders(const Source& source,
                                                          const ReaderOptions& reader,
                                                          const TaskMix& mix);

// What a person should hear of it, in a sentence; empty: nothing. `orders`: what SampleLabelOrders
// has found of each label; of several, the one in whose order the data lie the most is named.
std::string LabelOrderWarning(const v1::DataSpec& data, std::span<const LabelOrder> orders,
                              const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_LABEL_ORDER_H_
