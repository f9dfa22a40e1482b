// Reads the lines of a text without copying them.
#ifndef CAPSTAN_DATA_FORMATS_LINE_READER_H_
#define CAPSTAN_DATA_FORMATS_LINE_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Thread-compatible.
class LineReader {
 public:
  // A longer line is INVALID_ARGUMENT: the file is not a text.
  static constexpr size_t kMaxLine = size_t{16} << 20;

  // `offset` is the position of the stream's first byte in the file; `path` is for messages.
  LineReader(std::string path, std::unique_ptr<ByteStream> stream, uint64_t offset);

  // Sets `line` to the next line without "\n" or "\r\n", valid until the next call. A byte order
  // mark at the beginning of the file is removed. Returns false at the end and after an error: see
  // status().
  bool Next(std::string_view& line);

  const absl::Status& status() const { return status_; }
  // Returns true if the line last returned ended with "\r\n".
  bool carriage_return() const { return carriage_return_; }
  uint64_t line_offset() const { return line_offset_; }   // Where the line last returned begins.
  uint64_t next_offset() const { return begin_offset_; }  // Where the next line begins.

 private:
  bool Refill();

  const std::string path_;
  const std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // buffer_[begin_, end_) is not read yet.
  size_t end_ = 0;
  uint64_t begin_offset_;
  uint64_t line_offset_ = 0;
  bool carriage_return_ = false;
  bool at_end_ = false;
  absl::Status status_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LINE_READER_H_
