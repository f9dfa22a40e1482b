// Reads a stream whose bytes can be examined before they are consumed.
#ifndef CAPSTAN_DATA_FORMATS_BYTE_READER_H_
#define CAPSTAN_DATA_FORMATS_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Thread-compatible.
class ByteReader {
 public:
  // `offset` is the position of the stream's first byte in the file.
  ByteReader(std::unique_ptr<ByteStream> stream, uint64_t offset);

  uint64_t offset() const { return offset_; }  // The position in the file of the next byte.

  // Returns the next `size` bytes without consuming them; fewer only at the end of the stream.
  // Valid until the next call.
  absl::StatusOr<std::string_view> Peek(size_t size);

  // Consumes the next `size` bytes. Returns false if the stream ends before.
  absl::StatusOr<bool> Skip(uint64_t size);

  // As Skip, and replaces `bytes` by the consumed bytes.
  absl::StatusOr<bool> Read(size_t size, std::string& bytes);

 private:
  absl::Status Fill(size_t size);

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // buffer_[begin_, end_) is not consumed yet.
  size_t end_ = 0;
  uint64_t offset_;
  bool at_end_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_BYTE_READER_H_
