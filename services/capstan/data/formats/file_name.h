// Refuses files whose names the messages of a job cannot contain.
#ifndef CAPSTAN_DATA_FORMATS_FILE_NAME_H_
#define CAPSTAN_DATA_FORMATS_FILE_NAME_H_

#include <string_view>

#include "absl/status/status.h"

namespace capstan {

// INVALID_ARGUMENT, with all bytes beyond ASCII escaped: the path is not UTF-8. Tasks, statuses and
// reports name files in string fields, and a message with another text cannot be parsed.
absl::Status CheckFileName(std::string_view path);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_FILE_NAME_H_
