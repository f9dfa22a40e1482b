// The labels that the records of a job have.
#ifndef CAPSTAN_CONFIG_DATA_LABELS_H_
#define CAPSTAN_CONFIG_DATA_LABELS_H_

#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Those of data.labels, in their order; otherwise the only one, which has no name and weighs 1.
std::vector<v1::LabelSpec> LabelsOf(const v1::DataSpec& data);

// How many there are.
uint32_t LabelCountOf(const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DATA_LABELS_H_
