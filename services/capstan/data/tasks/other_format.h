// Recognizes files of another format than the one in the job.
#ifndef CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_
#define CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Checks the first line of a file that should be csv or tsv. INVALID_ARGUMENT: it is UTF-16, or a
// single cell that looks like another known format, which the message names.
absl::Status CheckFirstLine(const std::string& path, std::string_view line, v1::DataFormat format);

// Explains why no record of a file could be parsed: reads its first line and returns the error of
// CheckFirstLine, or that the file has no line ends but CR, or `otherwise` if the format is not csv
// or tsv or the line looks right.
absl::Status WhyNotUnderstood(const Source& source, const std::string& path, v1::DataFormat format,
                              absl::Status otherwise);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_
