// The labels that the records of a job have.
#ifndef CAPSTAN_CONFIG_DATA_LABELS_H_
#define CAPSTAN_CONFIG_DATA_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Those of data.labels, in their order; otherwise the only one, which has no name and weighs 1.
std::vector<v1::LabelSpec> LabelsOf(const v1::DataSpec& data);

// How many there are.
uint32_t LabelCountOf(const v1::DataSpec& data);

// The loss of the label at this place among LabelsOf: its own, or else that of the model, which is
// LOSS_UNSPECIFIED as long as it is left to the preset (capstan/model/presets). REQUIRES: there is
// such a label.
v1::Loss LossOf(const v1::JobSpec& job, size_t label);

// The loss of a label of a model that has the loss `of_model`.
v1::Loss LossOf(const v1::LabelSpec& label, v1::Loss of_model);

// Whether a label has this loss.
bool AnyLabelHas(const v1::JobSpec& job, v1::Loss loss);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DATA_LABELS_H_
