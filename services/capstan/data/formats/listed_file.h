// Reads the files beside the data that have one entry per line (candidates, vocabularies,
// measures), and of which all processes of a job must read the same version.
#ifndef CAPSTAN_DATA_FORMATS_LISTED_FILE_H_
#define CAPSTAN_DATA_FORMATS_LISTED_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

struct ListedLine {
  std::string_view text;         // Without "\n" or "\r\n".
  uint64_t number = 0;           // From 1.
  bool carriage_return = false;  // The line ended with "\r\n".
};

// Passes each line of a file, which may be compressed, to `take`, and returns the CRC32C of the
// file's text. INVALID_ARGUMENT, with file and line: `take` has returned false, with the reason in
// `error`. Other errors are those of `source`.
absl::StatusOr<uint32_t> ReadListedFile(
    const Source& source, const std::string& file,
    absl::FunctionRef<bool(const ListedLine& line, std::string& error)> take);

// Compares the checksum `found` with `expected`, that of the file when the job began.
// FAILED_PRECONDITION, with both checksums: they differ. `what` describes the file in the message:
// "the candidates of data.negatives".
absl::Status CheckUnchanged(const std::string& file, std::string_view what, uint32_t found,
                            uint32_t expected);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LISTED_FILE_H_
