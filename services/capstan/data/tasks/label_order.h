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

// How the labels of neighbouring records are related.
struct LabelOrder {
  uint64_t pairs = 0;   // Neighbours that were looked at.
  bool classes = true;  // Labels are classes; otherwise numbers.
  double same = 0;      // Classes: the share of the pairs that have the same label, and
  double chance = 0;    // what that share would be in a random order.
  // 1: as in sorted data, 0: as in a random order. For numbers, their correlation.
  double likeness = 0;
  uint64_t records = 0;  // Records that were looked at.
  // The label of all records; nothing: the labels differ, or there are none.
  std::optional<float> only = {};
};

// Measures the order of labels. Each element of `places` holds the labels of neighbouring records,
// in their order, at one place of the data. Data with only one label are in no order.
LabelOrder MeasureLabelOrder(std::span<const std::vector<float>> places, bool classes);

// Returns the order of each label of the data, in the order of LabelsOf. Reads about 10,000
// records, or half a megabyte of text, at some 64 places of the data; of a file that can be read
// only from its front and is not mixed, only its front. Records that cannot be parsed are passed
// over, as are labels that a record lacks. Errors as of TaskReader::Read.
absl::StatusOr<std::vector<LabelOrder>> SampleLabelOrders(const Source& source,
                                                          const ReaderOptions& reader,
                                                          const TaskMix& mix);

// Returns a sentence that warns a person of ordered data; empty: there is nothing to warn of.
// `orders` is the result of SampleLabelOrders; of several labels the one with the highest likeness
// is named.
std::string LabelOrderWarning(const v1::DataSpec& data, std::span<const LabelOrder> orders,
                              const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_LABEL_ORDER_H_
