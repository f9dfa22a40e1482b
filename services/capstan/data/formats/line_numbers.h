// Which line of a text begins at which byte.
#ifndef CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_
#define CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Remembers, every few MiB, what it has counted, so that no part of a file is read a second time
// for the next question but the last few MiB. Thread-compatible.
class LineNumbers {
 public:
  // A question for which more bytes than this would have to be read is not answered.
  static constexpr uint64_t kMostCounted = uint64_t{256} << 20;

  // `source` must outlive this object.
  explicit LineNumbers(const Source& source) : source_(source) {}

  // The number, from 1, of the line that begins at byte `offset` of `file`. Nothing: too much would
  // have to be read to tell. An error as of Source.
  absl::StatusOr<std::optional<uint64_t>> At(const std::string& file, uint64_t offset);

 private:
  using Marks = std::map<uint64_t, uint64_t>;  // Byte -> lines that end before it.

  absl::StatusOr<uint64_t> CountTo(uint64_t offset, const std::string& file, Marks& marks) const;

  const Source& source_;
  std::map<std::string, Marks> files_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_
