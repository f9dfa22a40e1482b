// How many records a file holds, of text or of samples.
#ifndef CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
#define CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Reads a (compressed) file to its end.
absl::StatusOr<uint64_t> CountRecords(const Source& source, const std::string& path,
                                      const v1::DataSpec& data);

// From the front of the file: stored bytes a record takes. 0: there is no record.
absl::StatusOr<double> EstimateRecordBytes(const Source& source, const std::string& path,
                                           const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
