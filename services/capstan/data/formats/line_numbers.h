// Finds the number of the line that begins at a given byte of a text.
#ifndef CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_
#define CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Remembers the count every few MiB of a file, so that a later call reads only the last few MiB
// before its position again. Thread-compatible.
class LineNumbers {
 public:
  // At() gives up if it would have to read more bytes than this.
  static constexpr uint64_t kMostCounted = uint64_t{256} << 20;

  // `source` must outlive this object.
  explicit LineNumbers(const Source& source) : source_(source) {}

  // Returns the number, from 1, of the line that begins at byte `offset` of `file`; nullopt if more
  // than kMostCounted bytes would have to be read. Errors are those of `source`.
  absl::StatusOr<std::optional<uint64_t>> At(const std::string& file, uint64_t offset);

 private:
  using Marks = std::map<uint64_t, uint64_t>;  // Byte -> lines that end before it.

  absl::StatusOr<uint64_t> CountTo(uint64_t offset, const std::string& file, Marks& marks) const;

  const Source& source_;
  std::map<std::string, Marks> files_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LINE_NUMBERS_H_
