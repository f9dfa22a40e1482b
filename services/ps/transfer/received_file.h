// A file that arrives in pieces, in order; a piece may arrive twice.
#ifndef CAPSTAN_PS_TRANSFER_RECEIVED_FILE_H_
#define CAPSTAN_PS_TRANSFER_RECEIVED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan::ps {

struct FilePiece {
  uint64_t offset = 0;
  std::string_view bytes;
  bool last = false;
  uint32_t crc32c = 0;  // With `last`: the checksum of the whole file.
};

// Thread-compatible.
class ReceivedFile {
 public:
  // Returns how many of the piece's bytes are new. OUT_OF_RANGE: a piece before this one is
  // missing, or this one goes beyond the end of the file.
  absl::StatusOr<size_t> NewIn(const FilePiece& piece) const;
  // Takes in a piece. A piece that was taken in before has no effect. DATA_LOSS: this is the last
  // piece, and the checksum of the file is wrong. Other errors are those of NewIn.
  absl::Status Take(const FilePiece& piece);

  bool complete() const { return complete_; }
  size_t size() const { return size_; }
  // Moves the bytes out; afterwards only size() is known. REQUIRES: complete().
  std::string TakeBytes() { return std::move(bytes_); }

 private:
  std::string bytes_;
  size_t size_ = 0;  // How many bytes were received.
  uint32_t crc_ = 0;
  bool complete_ = false;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_RECEIVED_FILE_H_
