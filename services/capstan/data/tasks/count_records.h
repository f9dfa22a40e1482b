// Counts the records of a file of text or of samples.
#ifndef CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
#define CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns the number of records of the file `path`, which is read to its end.
absl::StatusOr<uint64_t> CountRecords(const Source& source, const std::string& path,
                                      Compression compression, const v1::DataSpec& data);

// The records counted at the beginning of a file.
struct RecordSample {
  uint64_t records = 0;
  double bytes = 0;  // The stored (compressed) size of these records.
};

// Counts the records in about the first `content_bytes` decompressed bytes of the file.
absl::StatusOr<RecordSample> SampleRecords(const Source& source, const std::string& path,
                                           Compression compression, const v1::DataSpec& data,
                                           uint64_t content_bytes);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_COUNT_RECORDS_H_
