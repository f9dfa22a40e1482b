// Files of another format than they are told to be of.
#ifndef CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_
#define CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// INVALID_ARGUMENT, with what it looks like: the first line of a file that is said to be csv or tsv
// is one cell that is known from another format.
absl::Status CheckFirstLine(const std::string& path, std::string_view line, v1::DataFormat format);

// The same, for a file of which no record could be understood; `otherwise`: it is of the format.
absl::Status WhyNotUnderstood(const Source& source, const std::string& path, v1::DataFormat format,
                              absl::Status otherwise);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_OTHER_FORMAT_H_
