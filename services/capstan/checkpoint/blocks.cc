#include "capstan/checkpoint/blocks.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/bytes.h"

namespace capstan {
namespace {

constexpr std::string_view kMagic = "CAPSTAN";
constexpr char kFormat = 1;
constexpr size_t kFrontBytes = 3 * sizeof(uint32_t);
constexpr size_t kCrcBytes = sizeof(uint32_t);
constexpr uint32_t kMaxPayload = 1 << 30;

}  // namespace

BlockWriter::BlockWriter() : bytes_(kMagic) { bytes_.push_back(kFormat); }

void BlockWriter::Begin(BlockKind kind) {
  begin_ = bytes_.size();
  open_ = true;
  AppendNumber(bytes_, kind);
  AppendNumber(bytes_, ordinal_++);
  AppendNumber(bytes_, uint32_t{0});
}

size_t BlockWriter::payload_size() const { return bytes_.size() - begin_ - kFrontBytes; }

void BlockWriter::Finish() {
  const auto length = static_cast<uint32_t>(payload_size());
  std::memcpy(&bytes_[begin_ + 2 * sizeof(uint32_t)], &length, sizeof(length));
  AppendNumber(bytes_, Crc32c(std::string_view(bytes_).substr(begin_)));
  open_ = false;
}

std::string BlockWriter::TakeFinished() {
  CAPSTAN_CHECK(!open_);
  return std::exchange(bytes_, {});
}

std::string BlockWriter::TakeFile() && {
  Begin(BlockKind::kEnd);
  AppendNumber(bytes_, ordinal_);
  Finish();
  return std::move(bytes_);
}

BlockReader::BlockReader(std::string_view file, ByteFeed feed)
    : feed_(std::move(feed)),
      held_(std::make_unique<std::string>()),
      rest_(file),
      unread_(file.size() + feed_.bytes),
      file_size_(unread_) {}

absl::StatusOr<BlockReader> BlockReader::Open(std::string_view file) {
  BlockReader reader(file, {.next = [] { return std::string(); }});
  CAPSTAN_RETURN_IF_ERROR(reader.CheckStart());
  return reader;
}

absl::StatusOr<BlockReader> BlockReader::Open(ByteFeed feed) {
  BlockReader reader("", std::move(feed));
  CAPSTAN_RETURN_IF_ERROR(reader.CheckStart());
  return reader;
}

absl::Status BlockReader::Need(size_t count) {
  while (rest_.size() < count && rest_.size() < unread_) {
    CAPSTAN_ASSIGN_OR_RETURN(std::string piece, feed_.next());
    if (piece.empty()) return absl::DataLossError("the file ends before its last byte");
    if (rest_.empty()) {
      *held_ = std::move(piece);  // So blocks within one piece are not copied.
    } else {
      held_->erase(0, held_->size() - rest_.size());
      *held_ += piece;
    }
    rest_ = *held_;
  }
  return absl::OkStatus();
}

absl::Status BlockReader::CheckStart() {
  constexpr size_t kStart = kMagic.size() + 1;
  CAPSTAN_RETURN_IF_ERROR(Need(kStart));
  if (rest_.size() < kStart || rest_.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("does not begin as a partition file");
  }
  const int format = static_cast<unsigned char>(rest_[kMagic.size()]);
  if (format != kFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", format, " of partition files is not known here, only ", int{kFormat}));
  }
  rest_.remove_prefix(kStart);
  unread_ -= kStart;
  return absl::OkStatus();
}

absl::StatusOr<BlockView> BlockReader::Next() {
  const auto damaged = [this](std::string_view how) {
    return absl::DataLossError(absl::StrCat("block ", ordinal_, ", at byte ", file_size_ - unread_,
                                            absl::string_view(how.data(), how.size())));
  };
  if (unread_ < kFrontBytes + kCrcBytes) return damaged(", is missing: the file ends before it");
  CAPSTAN_RETURN_IF_ERROR(Need(kFrontBytes + kCrcBytes));
  ByteCursor front(rest_);
  const auto kind = front.Number<BlockKind>();
  const auto ordinal = front.Number<uint32_t>();
  const auto length = front.Number<uint32_t>();
  const size_t block_bytes = kFrontBytes + length + kCrcBytes;
  if (length > kMaxPayload || block_bytes > unread_) {
    return damaged(", is cut short or its length is damaged");
  }
  CAPSTAN_RETURN_IF_ERROR(Need(block_bytes));
  const std::string_view payload = rest_.substr(kFrontBytes, length);
  ByteCursor back(rest_.substr(kFrontBytes + length));
  if (back.Number<uint32_t>() != Crc32c(rest_.substr(0, kFrontBytes + length))) {
    return damaged(": the checksum does not agree");
  }
  if (ordinal != ordinal_) return damaged(", is missing or out of place");
  rest_.remove_prefix(block_bytes);
  unread_ -= block_bytes;
  ++ordinal_;
  if (kind == BlockKind::kEnd) CAPSTAN_RETURN_IF_ERROR(CheckEnd(payload));
  return BlockView{kind, payload};
}

absl::Status BlockReader::CheckEnd(std::string_view payload) const {
  ByteCursor reader(payload);
  if (reader.Number<uint32_t>() != ordinal_ || !reader.finished()) {
    return absl::DataLossError("the end block counts other blocks than there are");
  }
  if (unread_ == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(unread_, " bytes follow the end block"));
}

}  // namespace capstan
