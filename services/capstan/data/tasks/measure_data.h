// Computes the means and deviations for what a job standardizes: columns with `transform:
// standard`, and the label.
#ifndef CAPSTAN_DATA_TASKS_MEASURE_DATA_H_
#define CAPSTAN_DATA_TASKS_MEASURE_DATA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Training data of at most kMeasuredBytes stored bytes are measured completely. In larger data,
// ranges of kMeasuredRange bytes are measured, which are evenly distributed and have kMeasuredBytes
// in total. A compressed file can only be read from its beginning, so the bytes of its ranges are
// read there.
inline constexpr uint64_t kMeasuredBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMeasuredRange = uint64_t{1} << 20;

// Returns true if `data` standardizes something whose mean and deviation are not known yet.
bool LacksMeasures(const v1::DataSpec& data);

// Fills in the means and deviations that are not known, by one pass over the training data. A
// deviation is divided by the number of values (not by one less), and is 1 if all values are equal.
// Empty cells and bad records do not count. The same files give bit-equal results. REQUIRES:
// DeriveDataSpec has filled in `data`.
absl::Status MeasureData(const Source& source, v1::DataSpec& data,
                         uint64_t measured_bytes = kMeasuredBytes);

// Copies the means and deviations that `data` lacks from `known`, if `known` standardizes the same
// columns.
void AdoptMeasures(const v1::DataSpec& known, v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_MEASURE_DATA_H_
