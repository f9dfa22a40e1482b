#include "capstan/data/formats/byte_reader.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr size_t kReadAtOnce = size_t{256} << 10;

}  // namespace

ByteReader::ByteReader(std::unique_ptr<ByteStream> stream, uint64_t offset)
    : stream_(std::move(stream)), buffer_(kReadAtOnce), offset_(offset) {}

// Reads until the buffer has `size` bytes that are not consumed, or the stream ends.
absl::Status ByteReader::Fill(size_t size) {
  if (end_ - begin_ >= size || at_end_) return absl::OkStatus();
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < size) buffer_.resize(size);
  while (end_ < size && !at_end_) {
    CAPSTAN_ASSIGN_OR_RETURN(const size_t n, stream_->Read(std::span(buffer_).subspan(end_)));
    at_end_ = n == 0;
    end_ += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> ByteReader::Peek(size_t size) {
  CAPSTAN_RETURN_IF_ERROR(Fill(size));
  return std::string_view(buffer_.data() + begin_, std::min(size, end_ - begin_));
}

absl::StatusOr<bool> ByteReader::Skip(uint64_t size) {
  while (size > 0) {
    CAPSTAN_RETURN_IF_ERROR(Fill(1));
    if (begin_ == end_) return false;
    const size_t n = std::min<uint64_t>(size, end_ - begin_);
    begin_ += n;
    offset_ += n;
    size -= n;
  }
  return true;
}

absl::StatusOr<bool> ByteReader::Read(size_t size, std::string& bytes) {
  bytes.clear();
  while (bytes.size() < size) {
    CAPSTAN_RETURN_IF_ERROR(Fill(1));
    if (begin_ == end_) return false;
    const size_t n = std::min(size - bytes.size(), end_ - begin_);
    bytes.append(buffer_.data() + begin_, n);
    begin_ += n;
    offset_ += n;
  }
  return true;
}

}  // namespace capstan
