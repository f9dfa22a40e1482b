// Means and deviations of what a job standardizes: columns with `transform: standard`, and the
// label.
#ifndef CAPSTAN_DATA_TASKS_MEASURE_DATA_H_
#define CAPSTAN_DATA_TASKS_MEASURE_DATA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Training data of at most so many bytes, as they are stored, are measured whole. Of more, ranges
// of kMeasuredRange bytes are, which are as many bytes together and lie evenly from the first byte
// to the last. A compressed file can only be read from its front: as much of it as its ranges hold.
inline constexpr uint64_t kMeasuredBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMeasuredRange = uint64_t{1} << 20;

// Returns whether a mean and a deviation are not known yet.
bool LacksMeasures(const v1::DataSpec& data);

// Fills in those that are not known, by one pass over the training data. The deviation is that of
// all values that there are (not of a sample of them), and 1 where they are all the same; empty
// cells do not count, nor do records that are none. The same files give the same numbers, bit for
// bit. `data` is that of DeriveDataSpec.
absl::Status MeasureData(const Source& source, v1::DataSpec& data,
                         uint64_t measured_bytes = kMeasuredBytes);

// Has `data` take what it does not know from `known`, where that standardizes the same columns.
void AdoptMeasures(const v1::DataSpec& known, v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_MEASURE_DATA_H_
