// Measures the columns of Parquet files that a job standardizes.
#ifndef CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_
#define CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/moments.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Adds the values of `files` to `moments`: of all rows or, if the files have more than
// `measured_bytes` stored bytes, of ranges of rows that are evenly distributed over the files and
// take about `measured_bytes`.
absl::Status MeasureParquet(const Source& source, const v1::DataSpec& data,
                            const std::vector<FileInfo>& files, uint64_t measured_bytes,
                            ColumnMoments& moments);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_MEASURE_PARQUET_H_
