// A look at the beginning of every file of a job, before anything is trained on any of them.
#ifndef CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_
#define CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Files of a split that are looked at. Where it has more, these are the first, the last, and others
// evenly between.
inline constexpr size_t kMostCheckedFiles = 1024;

// Opens the files of both splits, several at a time, and parses the first records of each (64 KiB
// of a plain file, 1,000 records of compressed text, idx and Parquet, 32 compressed images, 4 of a
// class's folder), so that data that does not fit the job is refused at once and not when its turn
// comes. An error is that of the first such file, in the order of the job, training before
// evaluation: what a TaskReader says, with file and line. INVALID_ARGUMENT: more records than
// `max_bad_records` of one file are none, or all of them. `job.data` is that of DeriveDataSpec,
// `job.model` that of LayOutModel.
absl::Status CheckFirstRecords(const Source& source, const v1::JobSpec& job,
                               size_t most_files = kMostCheckedFiles);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_CHECK_FIRST_RECORDS_H_
