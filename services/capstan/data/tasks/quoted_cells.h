// Detects quoted cells in files of a format without quotes: TSV, which many programs (pandas,
// Python's csv module) write with the quotes of CSV.
#ifndef CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_
#define CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns a warning of the first cell that begins and ends with a quote among the first lines of
// the first training file, a sentence for people; empty if there is none, or the format is not TSV.
// In TSV the quotes are a part of the cell, so that `"red"` differs from `red`. Errors as for
// Source::List and ByteStream::Read.
absl::StatusOr<std::string> QuotedCellsWarning(const Source& source, const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_
