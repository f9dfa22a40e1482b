// How many records a text file holds.
#ifndef CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
#define CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Reads a (compressed) file to its end.
absl::StatusOr<uint64_t> CountRecords(const Source& source, const std::string& path, bool header);

// From the front of the file: stored bytes a record takes. 0: there is no record.
absl::StatusOr<double> EstimateRecordBytes(const Source& source, const std::string& path,
                                           bool header);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
