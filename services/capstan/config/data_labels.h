// The labels that the records of a job have.
#ifndef CAPSTAN_CONFIG_DATA_LABELS_H_
#define CAPSTAN_CONFIG_DATA_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the labels of data.labels, in their order; if there are none, the only label, which has
// no name and the weight 1.
std::vector<v1::LabelSpec> LabelsOf(const v1::DataSpec& data);

// Returns the number of labels.
uint32_t LabelCountOf(const v1::DataSpec& data);

// Returns the loss of the label at this index of LabelsOf: its own if it has one, otherwise the
// model's, which is LOSS_UNSPECIFIED until the preset has set it (capstan/model/presets). REQUIRES:
// there is such a label.
v1::Loss LossOf(const v1::JobSpec& job, size_t label);

// Returns the loss of a label of a model whose loss is `of_model`.
v1::Loss LossOf(const v1::LabelSpec& label, v1::Loss of_model);

// Returns the loss that the model will have, even if the file does not set it: with several outputs
// it is that of classes, and otherwise that of the preset.
v1::Loss LossOfModel(const v1::ModelSpec& model);

// Returns the measured metrics (capstan/model/metrics) by which early stopping can judge a label
// with this loss. `groups`: its records have groups.
std::vector<absl::string_view> MeasuredWith(v1::Loss loss, bool groups);

// Returns true if any label of the job has this loss.
bool AnyLabelHas(const v1::JobSpec& job, v1::Loss loss);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DATA_LABELS_H_
