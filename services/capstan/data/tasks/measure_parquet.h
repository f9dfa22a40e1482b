// The values of Parquet files that a job standardizes.
#ifndef CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_
#define CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/moments.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Adds to `moments` the values of `files`: of all of their rows, or of rows that lie evenly over
// them and are about `measured_bytes` of the files.
absl::Status MeasureParquet(const Source& source, const v1::DataSpec& data,
                            const std::vector<FileInfo>& files, uint64_t measured_bytes,
                            ColumnMoments& moments);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_
