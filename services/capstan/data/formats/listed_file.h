// Files beside the data that say something of them, a line each, and that all processes of a job
// must read alike: candidates, vocabularies, measures.
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
  std::string_view text;         // Without its end.
  uint64_t number = 0;           // From 1.
  bool carriage_return = false;  // Its end was "\r\n".
};

// Gives each line of a file, which may be compressed, to `take`, and returns the CRC32C of the
// file's text. INVALID_ARGUMENT, with file and line: `take` has said no, and why. Otherwise errors
// as Source's.
absl::StatusOr<uint32_t> ReadListedFile(
    const Source& source, const std::string& file,
    absl::FunctionRef<bool(const ListedLine& line, std::string& error)> take);

// FAILED_PRECONDITION, with both checksums: the file is not the one with which the job has begun.
// `what` it holds: "the candidates of data.negatives".
absl::Status CheckUnchanged(const std::string& file, std::string_view what, uint32_t found,
                            uint32_t expected);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LISTED_FILE_H_
