#include "capstan/objectstore/piece_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr size_t kAlignment = 4096;

}  // namespace

absl::Status PieceWriter::Append(std::string_view bytes) {
  if (failure_.ok()) failure_ = Take(bytes);
  return failure_;
}

absl::Status PieceWriter::Finish() {
  if (failure_.ok()) failure_ = WriteRest();
  return failure_;
}

absl::Status PieceWriter::Take(std::string_view bytes) {
  if (piece_ == nullptr) {
    piece_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, kPieceBytes)));
    if (piece_ == nullptr)
      return absl::ResourceExhaustedError(absl::StrCat(key_, ": no memory for a piece of a file"));
  }
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kPieceBytes - filled_);
    std::memcpy(piece_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes.remove_prefix(count);
    if (filled_ < kPieceBytes) break;
    filled_ = 0;
    CAPSTAN_RETURN_IF_ERROR(WriteDirect({piece_.get(), kPieceBytes}));
  }
  return absl::OkStatus();
}

absl::Status PieceWriter::WriteRest() {
  std::string_view left(piece_.get(), std::exchange(filled_, 0));
  if (left.size() >= kCachedBytes) {
    const size_t whole = left.size() / kAlignment * kAlignment;
    CAPSTAN_RETURN_IF_ERROR(WriteDirect(left.substr(0, whole)));
    left.remove_prefix(whole);
  }
  if (direct_) SetDirect(false);
  return WriteAll(file_, left, key_);
}

// REQUIRES: the address of the bytes, their offset in the file and their number are aligned.
absl::Status PieceWriter::WriteDirect(std::string_view bytes) {
  if (!std::exchange(begun_, true)) SetDirect(true);
  if (direct_) {
    const ssize_t written = write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINVAL && errno != EINTR) return SystemError(key_, errno);
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    if (bytes.empty()) return absl::OkStatus();
    SetDirect(false);  // The file system requires another alignment.
  }
  return WriteAll(file_, bytes, key_);
}

void PieceWriter::SetDirect(bool direct) {
  const int flags = fcntl(file_.get(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  direct_ = flags >= 0 && fcntl(file_.get(), F_SETFL, wanted) == 0 && direct;
}

}  // namespace capstan
