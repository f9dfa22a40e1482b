// Refuses files whose names no message of a job could hold.
#ifndef CAPSTAN_DATA_FORMATS_FILE_NAME_H_
#define CAPSTAN_DATA_FORMATS_FILE_NAME_H_

#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// INVALID_ARGUMENT, with all bytes beyond ASCII escaped: the path is not UTF-8. Tasks, statuses and
// reports name files in fields of text, and a message with another text cannot be read.
absl::Status CheckFileName(std::string_view path);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_FILE_NAME_H_
