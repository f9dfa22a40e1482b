// Tells of cells in quotes in files that know no quotes: TSV, which many programs write with those
// of CSV (pandas, Python's csv module).
#ifndef CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_
#define CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns a sentence that warns a person of the first cell that begins and ends with a quote among
// the first lines of the first training file; empty: there is none, or the format is not TSV. There
// the quotes are a part of the cell, so that `"red"` is another text than `red`. Errors as of
// Source::List and ByteStream::Read.
absl::StatusOr<std::string> QuotedCellsWarning(const Source& source, const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_QUOTED_CELLS_H_
