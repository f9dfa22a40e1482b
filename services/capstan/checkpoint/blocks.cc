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

absl::StatusOr<BlockReader> BlockReader::Open(std::string_view file) {
  if (file.size() <= kMagic.size() || file.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("does not begin as a partition file");
  }
  const int format = static_cast<unsigned char>(file[kMagic.size()]);
  if (format != kFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", format, " of partition files is not known here, only ", int{kFormat}));
  }
  return BlockReader(file.substr(kMagic.size() + 1), file.size());
}

absl::StatusOr<BlockView> BlockReader::Next() {
  const auto damaged = [this](std::string_view how) {
    return absl::DataLossError(absl::StrCat("block ", ordinal_, ", at byte ",
                                            file_size_ - rest_.size(),
                                            absl::string_view(how.data(), how.size())));
  };
  if (rest_.size() < kFrontBytes + kCrcBytes)
    return damaged(", is missing: the file ends before it");
  ByteReader front(rest_);
  const auto kind = front.Number<BlockKind>();
  const auto ordinal = front.Number<uint32_t>();
  const auto length = front.Number<uint32_t>();
  if (length > kMaxPayload || length > front.rest().size() - kCrcBytes) {
    return damaged(", is cut short or its length is damaged");
  }
  const std::string_view payload = front.rest().substr(0, length);
  ByteReader back(front.rest().substr(length));
  if (back.Number<uint32_t>() != Crc32c(rest_.substr(0, kFrontBytes + length))) {
    return damaged(": the checksum does not agree");
  }
  if (ordinal != ordinal_) return damaged(", is missing or out of place");
  rest_ = back.rest();
  ++ordinal_;
  if (kind == BlockKind::kEnd) CAPSTAN_RETURN_IF_ERROR(CheckEnd(payload));
  return BlockView{kind, payload};
}

absl::Status BlockReader::CheckEnd(std::string_view payload) const {
  ByteReader reader(payload);
  if (reader.Number<uint32_t>() != ordinal_ || !reader.finished()) {
    return absl::DataLossError("the end block counts other blocks than there are");
  }
  if (rest_.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(rest_.size(), " bytes follow the end block"));
}

}  // namespace capstan
