#include "ps/transfer/received_file.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"

namespace capstan::ps {

absl::StatusOr<size_t> ReceivedFile::NewIn(const FilePiece& piece) const {
  const bool known =
      piece.offset <= size_ && piece.bytes.size() <= size_ - piece.offset && !piece.bytes.empty();
  if (known) return 0;
  if (piece.offset == size_ && (!complete_ || piece.bytes.empty())) return piece.bytes.size();
  return absl::OutOfRangeError(absl::StrCat("a piece of ", piece.bytes.size(), " bytes at ",
                                            piece.offset, ": ", size_, " bytes are here",
                                            complete_ ? ", which is all" : ""));
}

absl::Status ReceivedFile::Take(const FilePiece& piece) {
  CAPSTAN_ASSIGN_OR_RETURN(const size_t more, NewIn(piece));
  if (complete_) return absl::OkStatus();
  if (more > 0) {
    bytes_.append(piece.bytes);
    crc_ = Crc32c(piece.bytes, crc_);
    size_ += more;
  }
  if (!piece.last || piece.offset + piece.bytes.size() != size_) return absl::OkStatus();
  if (piece.crc32c != crc_) {
    return absl::DataLossError(absl::StrCat("the checksum of ", size_, " bytes is ",
                                            absl::Hex(crc_), ", not ", absl::Hex(piece.crc32c)));
  }
  complete_ = true;
  return absl::OkStatus();
}

}  // namespace capstan::ps
