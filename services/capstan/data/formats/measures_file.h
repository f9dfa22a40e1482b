// Mean and deviation of numeric columns as a file says them, of columns with transform: standard.
//
//   file  = line { line }
//   line  = column "\t" mean "\t" deviation "\n"
//
// A column is called as job.yaml calls it: by its name, or by its number, from 0. No two lines are
// of one column; there may be lines of columns that the job does not use. The last "\n" may be
// missing.
#ifndef CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_
#define CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Sets mean and deviation of those of data.numeric that name such a file, and its checksum, by
// which a job knows it. INVALID_ARGUMENT, with file and line: a line is none of these, or its
// column has one already, a number is not finite, a deviation not above 0, or there are more than
// kMaxColumns lines; with the file: it has no line of a column. Otherwise errors as Source's.
absl::Status DeriveMeasures(const Source& source, v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_
