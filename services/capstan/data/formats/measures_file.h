// Reads the mean and deviation of columns with transform: standard from a file.
//
//   file  = line { line }
//   line  = column "\t" mean "\t" deviation "\n"
//
// A column is named as in job.yaml: by its name, or by its number, from 0. There is at most one
// line for a column; lines of columns that the job does not use are allowed. The last "\n" may be
// missing.
#ifndef CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_
#define CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Sets mean and deviation of the columns in data.numeric that name such a file, and the file's
// checksum, by which a change of the file is detected. INVALID_ARGUMENT, with file and line: a line
// is malformed, its column has a line already, a number is not finite, a deviation is not above 0,
// or there are more than kMaxColumns lines; with the file: a column that names it has no line.
// Other errors are those of `source`.
absl::Status DeriveMeasures(const Source& source, v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_MEASURES_FILE_H_
