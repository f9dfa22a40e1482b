// Detects whether the training data are sorted by their labels.
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

// How similar the labels of neighbouring records are.
struct LabelOrder {
  uint64_t pairs = 0;   // How many pairs of neighbours were examined.
  bool classes = true;  // Labels are classes; otherwise numbers.
  double same = 0;      // Classes: the share of the pairs with the same label.
  double chance = 0;    // Classes: what that share would be in a random order.
  // 1: as in sorted data, 0: as in a random order. For numbers, their correlation.
  double likeness = 0;
  uint64_t records = 0;  // How many records were examined.
  // The label of all records; nullopt if the labels differ, or there are none.
  std::optional<float> only = {};
};

// Measures the order of labels. Each element of `places` has the labels of consecutive records at
// one place of the data. Data with only one label have no order.
LabelOrder MeasureLabelOrder(std::span<const std::vector<float>> places, bool classes);

// Returns the order of each label of the data, in the order of LabelsOf. Reads about 10,000
// records, or half a megabyte of text, at some 64 places of the data; of a file that can be read
// only from its beginning and is not mixed, only its beginning. Skips records that cannot be
// parsed, and labels that a record lacks. Errors as for TaskReader::Read.
absl::StatusOr<std::vector<LabelOrder>> SampleLabelOrders(const Source& source,
                                                          const ReaderOptions& reader,
                                                          const TaskMix& mix);

// Returns a warning of sorted data, a sentence for people; empty if there is nothing to warn of.
// `orders` is the result of SampleLabelOrders; of several labels the one with the highest likeness
// is named.
std::string LabelOrderWarning(const v1::DataSpec& data, std::span<const LabelOrder> orders,
                              const TaskMix& mix);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_LABEL_ORDER_H_
