// Checks the beginning of every file of a job before training.
#ifndef CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_
#define CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The most files of a split that are checked. Of a split with more files, the first, the last and
// others evenly spaced between them are checked.
inline constexpr size_t kMostCheckedFiles = 1024;

// Opens the files of both splits, several at a time, and parses the first records of each (64 KiB
// of a plain file, 1,000 records of compressed text, idx and Parquet, 32 compressed images, 4 of a
// class's folder), so that data that do not fit the job are refused at once and not during
// training. Returns the error of the first file that does not fit, in the order of the job,
// training before evaluation. Errors are those of TaskReader::Read, with file and line; also
// INVALID_ARGUMENT if all of the checked records of a file are bad. REQUIRES: DeriveDataSpec has
// filled in `job.data`, and LayOutModel `job.model`.
absl::Status CheckFirstRecords(const Source& source, const v1::JobSpec& job,
                               size_t most_files = kMostCheckedFiles);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_
