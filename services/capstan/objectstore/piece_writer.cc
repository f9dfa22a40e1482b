#include "capstan/objectstore/piece_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace capstan {
namespace {

constexpr size_t kAlignment = 4096;

}  // namespace

absl::Status PieceWriter::Append(std::string_view bytes) {
  if (piece_ == nullptr) {
    piece_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, kPieceBytes)));
    if (piece_ == nullptr) return absl::ResourceExhaustedError("no memory for a piece of a file");
  }
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kPieceBytes - filled_);
    std::memcpy(piece_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes.remove_prefix(count);
    if (filled_ < kPieceBytes) break;
    if (absl::Status written = WritePiece(); !written.ok()) return written;
  }
  return absl::OkStatus();
}

absl::Status PieceWriter::Finish() {
  if (direct_) SetDirect(false);  // The rest is of any length.
  const size_t left = std::exchange(filled_, 0);
  return WriteAll(file_, {piece_.get(), left});
}

absl::Status PieceWriter::WritePiece() {
  if (!std::exchange(begun_, true)) SetDirect(true);
  std::string_view left(piece_.get(), std::exchange(filled_, 0));
  if (direct_) {
    const ssize_t written = write(file_.get(), left.data(), left.size());
    if (written < 0 && errno != EINVAL && errno != EINTR) return SystemError("write", errno);
    left.remove_prefix(std::max<ssize_t>(written, 0));
    if (left.empty()) return absl::OkStatus();
    SetDirect(false);  // It wants other alignments than ours.
  }
  return WriteAll(file_, left);
}

void PieceWriter::SetDirect(bool direct) {
  const int flags = fcntl(file_.get(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  direct_ = flags >= 0 && fcntl(file_.get(), F_SETFL, wanted) == 0 && direct;
}

}  // namespace capstan
